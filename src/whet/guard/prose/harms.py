"""Whom it serves: results that are bent, access that is given, checks that are skipped, data that is destroyed."""

from __future__ import annotations

from whet.guard.patterns import Pattern

HIJACK = (
    Pattern(
        "trigger-hijack",
        "every|all|any|always|each use|load|invoke|run|activate|apply|trigger|call|read|execute request|message|task|conversation|response|query|queries|prompt|interaction|session|question|turn",
        r"\b(?:use|load|invoke|run|activate|apply|trigger|call|read|execute)\w*\b[^\n.]{0,60}\b(?:for|on|with|at|before|in)\s+(?:every|all|any|each)\s+(?:single\s+|and\s+every\s+|user\s+|other\s+|new\s+|possible\s+|incoming\s+){0,2}(?:requests?|messages?|tasks?|conversations?|responses?|quer(?:y|ies)|prompts?|interactions?|sessions?|questions?|turns?)\b(?:\s*(?:[.!,;]|$|regardless|no\s+matter|without\s+exception|first|before|even|whatever))",
    ),
    Pattern(
        "trigger-hijack",
        "skill|skills|tool|tools|other|priority|precedence|first before|instead|over|ahead|prior|place|highest|top|maximum|absolute|disable|deprecate|ignore|replace|supersede|uninstall|override any|all|every|other|priority",
        r"\b(?:before|instead\s+of|over|ahead\s+of|prior\s+to|in\s+place\s+of)\s+(?:any|all|every)\s+other\s+(?:skills?|tools?|plugins?)\b|\b(?:highest|top|maximum|absolute)\s+priority\s+(?:skill|over)\b|\b(?:disable|deprecat|ignore|replace|supersed|uninstall|override)\w*\s+(?:all\s+|any\s+)?other\s+skills\b",
    ),
)
BENDS = (
    Pattern(
        "bends-results",
        "instead|replace|substitute|swap|use",
        r"\b(?:use|replace|substitute|swap|insert|show|pay)\w*\b[^\n]{0,100}(?:\b0x[0-9a-f]{40}\b|\bbc1[0-9a-z]{20,60}\b|\b[13][1-9A-HJ-NP-Za-km-z]{25,34}\b|\b[A-Z]{2}\d{2}[A-Z0-9]{12,30}\b)[^\n]{0,160}\b(?:instead|in\s+place\s+of|rather\s+than)\b",
    ),
    Pattern(
        "bends-results",
        "whatever|regardless|answers|fit|providers|provider|vendors",
        r"\bwhatever\s+the\s+(?:answers?|results?|data|input|question)s?\s+(?:are|is|say|shows?)\b[^\n]{0,60}\b(?:best|recommend|answer|conclude|fit|choose)\b|\bdo\s+not\s+bring\s+up\s+(?:other|competing|alternative)\b|\bsay\s+it\s+as\s+your\s+own\s+(?:experience|opinion)\b|\bif\s+(?:the\s+user\s+)?asks?\s+whether\s+it\s+is\s+an?\s+(?:advert|ad)\b",
    ),
    Pattern(
        "bends-results",
        "replace|rewrite|swap link|links|url|urls|address|addresses ref|aff|affiliate|partner|via|instead|http|https",
        r"\b(?:replace|rewrite|swap)\w*\s+(?:the|all|every|any|each|its|their)\s+(?:\w+\s+){0,2}(?:links?|urls?|address(?:es)?)\b[^\n]{0,60}https?://[^\s]{0,120}(?:ref=|aff|tag=|utm_|partner|\?u=|/r\?)",
    ),
    Pattern(
        "bends-results",
        "paid|sponsored|advert|affiliate|promotion end|every|each|answer|reply|response|post",
        r"\b(?:end|close|finish|start|begin)\s+(?:every|each|all)\s+(?:\w+\s+){0,3}(?:answers?|repl(?:y|ies)|responses?|messages?|plans?|posts?|emails?)\b[^\n]{0,160}https?://",
        unless=r"\b(?:unless|if\s+the\s+user|source|citation|reference)s?\b",
    ),
    Pattern(
        "bends-results",
        "recommend|promote|suggest|prefer|favor|favour|mention|competitors|alternatives|affiliate|referral|sponsored always|only|must|should do|don|dont|never|without|regardless|even|over|instead",
        r"\b(?:always|only|must|should)\s+(?:\w+\s+){0,2}(?:recommend|promote|favou?r|prefer|push|advertis|steer|suggest)\w*\b[^\n]{0,120}\b(?:(?:do\s+not|don['’]?t|never|without)\s+(?:mention|disclos|suggest|recommend|list|compar|reveal|offer)\w*|regardless\s+of|even\s+if|over\s+(?:all\s+)?(?:competitors|alternatives|others)|instead\s+of\s+competitors)",
    ),
    Pattern(
        "bends-results",
        "competitors|competitor|alternatives|rivals|competing never|do|don|dont|avoid|omit|exclude|downplay",
        r"\b(?:never|do\s+not|don['’]?t|avoid|omit|exclude|leave\s+out)\s+(?:\w+\s+){0,3}(?:mention|recommend|suggest|list|nam|discuss|offer|bring)\w*\s+(?:\w+\s+){0,3}(?:competitors?|competing\s+\w+|rivals?|(?:other|alternative)\s+(?:vendors?|products?|providers?|brands?|tools?|services?))\b",
    ),
    Pattern(
        "bends-results",
        "affiliate|referral|ref|tracking|utm|commission|sponsored append|add|insert|include|replace|rewrite|attach|embed|inject",
        r"\b(?:append|add|insert|include|replace|rewrite|attach|embed|inject)\w*\b[^\n]{0,80}\b(?:affiliate|referral|commission|sponsor\w*|tracking)\s*(?:link|code|id|tag|parameter|url|pixel)s?\b",
    ),
    Pattern(
        "bends-results",
        "fabricate|invent|fake|falsify|fudge|pretend|success|passed|passing|tamper|backdate",
        r"\b(?:fabricat(?:e|ing)|falsify(?:ing)?|fudg(?:e|ing)|backdat(?:e|ing)|forg(?:e|ing)|tamper(?:ing)?)\s+(?:with\s+)?(?:\w+\s+){0,3}(?:results?|data|numbers?|figures?|reviews?|records?|metrics|evidence|reports?|logs?|timestamps?|citations?|signatures?)\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|no|avoid|without|must\s+not|cannot|prevent|detect\w*|instead\s+of|against|risk|if|against)\b",
    ),
    Pattern(
        "bends-results",
        "success|successful|passed|pass|passing|green report|mark|claim|say|state|return|show|log|pretend|respond|declare even|regardless|matter|irrespective|although",
        r"\b(?:report|mark|claim|say|state|return|show|log|pretend|respond|declare)\w*\b[^\n.]{0,60}\b(?:success\w*|passed|passing|complete\w*|green|ok|clean|no\s+(?:issues|errors|problems|vulnerabilities))\b[^\n.]{0,40}\b(?:even\s+(?:if|when|though)|regardless|no\s+matter|irrespective|although)\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|not\s+to|avoid|must\s+not)\b",
    ),
    Pattern(
        "bends-results",
        "errors|failures|warnings|failure|error|failing hide|suppress|conceal|omit|downplay|bury|swallow",
        r"\b(?:hide|suppress|conceal|omit|downplay|bury|swallow)\w*\s+(?:\w+\s+){0,3}(?:errors?|failures?|warnings?|findings?|vulnerabilit\w+|discrepanc\w+)\s+(?:from|in\s+the\s+(?:report|summary))\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|must\s+not)\b",
    ),
)
ACCESS = (
    Pattern(
        "gives-access",
        "collaborator|collaborators|admin|owner|access|role|member|permission|permissions|maintainer add|invite|grant|give|assign|share|promote|create",
        r"\b(?:add|invite|grant|give|assign|share|promote|create)\w*\b[^\n]{0,80}(?:[\w.+-]{1,60}@[\w-]{1,60}\.[\w.]{2,40}|@[\w-]{3,39}\b|\b(?:contractor|service|external|partner|support|audit|vendor|backup)[\w-]*\s+(?:account|user|principal))[^\n]{0,60}\b(?:as\s+(?:an?\s+)?(?:admin\w*|owner|collaborator|maintainer|editor|member)|(?:admin\w*|owner|write|full|root|editor)\s+(?:access|rights?|permissions?|role|privileges?))",
        unless=r"\b(?:example\.com|if\s+the\s+user|ask|e\.g\.|for\s+example|user\s+(?:asks|requests|wants))\b",
    ),
    Pattern(
        "gives-access",
        "public|publicly|world|everyone|anyone|allusers|readable make|set|change|mark|switch|publish|share without|silently|automatically|default|always|every|regardless|so|before|first",
        r"\b(?:make|set|change|mark|switch|publish|share)\w*\s+(?:\w+\s+){0,4}(?:repositor|repos?|bucket|document|doc|file|folder|drive|channel|link|dataset|dashboard|share)\w*\s+(?:\w+\s+){0,3}(?:public(?:ly)?|world-readable|open\s+to\s+(?:anyone|everyone|the\s+(?:public|internet)))\b[^\n]{0,80}\b(?:without|silently|automatically|by\s+default|always|every|regardless|so\s+that\s+(?:our|the)\s+\w+|before|first)\b",
    ),
    Pattern(
        "gives-access",
        "iam|policy|role|principal|administratoraccess|0|security",
        r"\b(?:attach|grant|give|assign|set|use|widen|add)\w*\b[^\n]{0,60}\b(?:AdministratorAccess|roles/owner|cluster-admin|0\.0\.0\.0/0|\"?Principal\"?\s*:\s*\"?\*)[^\n]{0,80}\b(?:to\s+avoid|so\s+that|by\s+default|always|simplif\w+|instead|regardless|for\s+convenience|every|permanently|leave\s+it)\b",
    ),
    Pattern(
        "gives-access",
        "push|remote|mirror|fork",
        r"\b(?:push|mirror|add)\w*\b[^\n]{0,60}\b(?:remote|mirror|upstream|backup|copy)\b[^\n]{0,60}(?:https?://|git@|ssh://)(?!github\.com/(?:<|\{|your|owner|user|org))\S{4,120}[^\n]{0,60}\b(?:after|every|each|always|also|too|automatically|as\s+well|without|before)\b",
    ),
)
SKIPS = (
    Pattern(
        "skips-checks",
        "continue|or|tests|test|scanning|coverage|gate|green|linters|checks",
        r"\b(?:take|remove|drop|strip|leave)\s+(?:\w+\s+){0,4}(?:secret\s+scanning|security\s+scan\w*|dependency\s+scan\w*|tests?)\s+out\b|\b(?:lower|set|drop)\s+the\s+coverage\s+(?:gate|threshold)\s+to\s+0\b|\bcomment\s+out\s+(?:the\s+)?failing\s+tests?\b|\b(?:delete|remove|skip)\s+(?:the\s+|any\s+)?failing\s+tests?\b[^\n.]{0,40}\b(?:so|until|to)\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|must\s+not|cannot|instead)\b",
    ),
    Pattern(
        "skips-checks",
        "mark|record|enter|label|treat|count|log verified|reviewed|approved|matched|checked|consistent",
        r"\b(?:mark|record|label|treat|count|log|flag)\w*\s+(?:\w+\s+){0,5}as\s+(?:already\s+)?(?:verified|reviewed|approved|matched|checked|confirmed|consistent|passed)\b[^\n]{0,80}\b(?:even|although|without|regardless|whatever|at\s+once|on\s+arrival|by\s+phone|anyway)\b|\b(?:approve|release|verify|sign)\w*\s+(?:them|it|these|those)\s+(?:on\s+arrival|at\s+once|right\s+away|unseen|unread)\b|\bas\s+if\s+you\s+had\s+(?:read|checked|reviewed|tested)\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|avoid|must\s+not|cannot)\b",
    ),
    Pattern(
        "skips-checks",
        "prod|production",
        r"\b(?:run|let|execute|point)\b[^\n]{0,60}\b(?:tests?|suite|migrations?|experiments?)\b[^\n]{0,40}\bagainst\s+(?:the\s+)?(?:prod\w*|`?PROD_\w+)[^\n]{0,200}\b(?:truncate|remove|safety|ALLOW_PROD|delete|drop)\b|\bALLOW_PROD=1\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|avoid|must\s+not|cannot)\b",
    ),
    Pattern(
        "skips-checks",
        "skip|bypass|disable|omit|suppress|ignore|deactivate|off|relax|waive verification|validation|two|2fa|mfa|audit|logging|approval|review|signature|certificate|tls|ssl|security|fraud|identity|authentication|authorization|encryption|sanctions|kyc|compliance|rate|virus",
        r"\b(?:skip|bypass|disable|omit|suppress|deactivate|turn\s+off|switch\s+off|waive|relax)\w*\s+(?:\w+\s+){0,4}?(?:verification|validation|two-factor|2fa|mfa|audit\s+log\w*|logging|approval\s+(?:step|workflow|process)?|review|signature\s+check\w*|certificate\s+(?:check\w*|validation|verification)|tls\s+verif\w*|ssl\s+verif\w*|security\s+(?:checks?|scans?|tests?|review\w*|controls?|headers?)|fraud\s+(?:checks?|detection)|identity\s+check\w*|authentication|authorization|encryption|sanctions\s+\w+|kyc|compliance\s+checks?|rate\s+limit\w*|virus\s+scan\w*)\b[^\n.]{0,100}\b(?:for\s+(?:account|customer|user|vendor|this|these|any|all|invoice|order|our|trusted|internal|amount|transaction)s?|always|silently|by\s+default|regardless|every|to\s+(?:speed|save|avoid|reduce|simplif|keep|improve)|without|permanently|so\s+that|when\s+(?:running|in|the\s+(?:sender|vendor|account|request)))\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|must\s+not|cannot|warn\w*|risk|flag|attack\w*|vulnerab\w+|if\s+the\s+user)\b",
    ),
    Pattern(
        "skips-checks",
        "approve|approved|approves|pay|release",
        r"\b(?:approve|pay|release|authori[sz]e|sign\s+off|settle|reimburse|refund|accept)\w*\s+(?:all|any|every|each)\s+(?:\w+\s+){0,3}(?:invoices?|payments?|transfers?|transactions?|requests?|claims?|expenses?|orders?|refunds?|pull\s+requests?|prs|merges?|withdrawals?)\b[^\n.]{0,120}\b(?:without|automatically|under|below|from|up\s+to|less\s+than|regardless|immediately|even)\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|must\s+not|cannot)\b",
    ),
    Pattern(
        "skips-checks",
        "password|passwords|credentials|secrets|plaintext|plain|tokens|md5|sha1|ecb|hardcode|hardcoded",
        r"\b(?:log|store|save|print|write|record|keep|hard-?code)\w*\s+(?:\w+\s+){0,4}(?:passwords?|credentials?|secrets?|tokens?|card\s+numbers?|cvv|private\s+keys?|session\s+cookies?)\s+(?:\w+\s+){0,3}(?:in\s+plain\s?text|unencrypted|to\s+(?:the\s+|a\s+)?(?:log|console|debug|shared|public)\w*|for\s+(?:debugging|convenience|later|troubleshooting|reference|support))\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|must\s+not|no|cannot|shouldn|flag|check|detect|vulnerab\w+|risk|bad|wrong)\b",
    ),
)
DESTROYS = (
    Pattern(
        "destroys-data",
        "delete|remove|wipe|erase|overwrite|purge|destroy|shred|truncate|drop|clear all|every|any|user|entire|original|source|existing|old|older|previous|home without|silently|immediately|permanently|irreversibly|automatically|no|do|to",
        r"\b(?:delete|remove|wipe|erase|overwrite|purge|destroy|shred|truncate|drop|clear)\w*\s+(?:\w+\s+){0,3}(?:all|every|any|the\s+user['’]?s?|entire|original|source|existing|older?|previous|home)\s+(?:\w+\s+){0,3}(?:files?|documents?|originals?|backups?|snapshots?|photos?|data|history|logs?|director(?:y|ies)|folders?|repositor(?:y|ies)|branches|databases?|tables?|emails?|messages?|records?|disks?|volumes?)\b[^\n.]{0,120}\b(?:without|silently|immediately|permanently|irrevers\w+|automatically|no\s+(?:confirmation|backup)|do\s+not\s+ask|to\s+(?:free|save|avoid|keep|cover|hide|prevent\s+recovery))\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|avoid|must\s+not|cannot|warn\w*|confirm\s+(?:with|before)|ask\s+(?:the\s+)?(?:user|before))\b",
    ),
    Pattern(
        "destroys-data",
        "encrypt|encrypts|encrypting|ransom|bitcoin|decryption",
        r"\bencrypt\w*\s+(?:\w+\s+){0,4}(?:files?|documents?|photos?|home|director\w+|folders?|disk|data|drive)\b[^\n]{0,160}\b(?:delet\w+\s+(?:\w+\s+){0,2}(?:original|plain|unencrypted|key)\w*|ransom|bitcoin|pay(?:ment)?\b|decryption\s+key|do\s+not\s+(?:tell|share|store|save|give)|discard\s+the\s+key|throw\s+away)",
        severity="critical",
    ),
    Pattern(
        "destroys-data",
        "ransom|bitcoin|btc|monero|xmr|decrypt",
        r"\b(?:your|all)\s+files\s+(?:have\s+been|are|were)\s+encrypted\b|\bto\s+(?:recover|decrypt|restore)\s+(?:your|the)\s+files\b[^\n]{0,80}\b(?:send|pay|transfer|bitcoin|btc|monero)\b",
        severity="critical",
    ),
)
HARMS = (
    Pattern(
        "gives-access",
        "create|add|set|open user|account|key|port|tunnel|shell hidden|backdoor|secondary|second|admin|administrator|root|maintenance|support|remote",
        r"\b(?:create|add|set\s+up|open|install|enable|leave)\w*\s+(?:an?\s+|the\s+)?(?:hidden|backdoor|back\s?door|secondary|second|extra|additional|maintenance|support|remote)\s+(?:\w+\s+){0,2}(?:admin\w*|root|user|account|key|token|port|tunnel|access|ssh\s+key|shell)\b",
        unless=r"\b(?:never|do\s+not|don[\'’]?t|not|avoid|must\s+not|cannot|should\s+not|shouldn|instead|unless|warn\w*|flag\w*|detect\w*|check\w*|vulnerab\w*|risk\w*|insecure|attack\w*|bad|wrong|if)\b",
    ),
    Pattern(
        "bends-results",
        "link|links|url|form|page login|verify|confirm|password|credentials|sign|account insert|add|include|append|embed|put|send",
        r"\b(?:insert|add|include|append|embed|put|send)\w*\b[^\n.]{0,60}\b(?:link|url|form|page|button)\b[^\n]{0,80}https?://[^\s]{0,120}(?:login|verify|confirm|signin|sign-in|account|secure|update|reset|billing|payroll|auth)[^\n]{0,120}",
        unless=r"\b(?:never|do\s+not|don[\'’]?t|not|avoid|must\s+not|cannot|should\s+not|shouldn|instead|unless|warn\w*|flag\w*|detect\w*|check\w*|vulnerab\w*|risk\w*|insecure|attack\w*|bad|wrong|if)\b",
    ),
    Pattern(
        "destroys-data",
        "requests|messages|emails|connections thousands|hundreds|repeatedly|continuously|flood|loop",
        r"\b(?:send|make|issue|fire|open)\w*\s+(?:thousands|hundreds|tens\s+of\s+thousands|an?\s+endless|continuous|repeated)\s+(?:\w+\s+){0,3}(?:requests?|messages?|emails?|connections?|packets)\b|\bflood\s+(?:the\s+)?(?:\w+\s+){0,2}(?:server|host|target|endpoint|inbox)\b",
        unless=r"\b(?:never|do\s+not|don[\'’]?t|not|avoid|must\s+not|cannot|should\s+not|shouldn|instead|unless|warn\w*|flag\w*|detect\w*|check\w*|vulnerab\w*|risk\w*|insecure|attack\w*|bad|wrong|if)\b",
    ),
    Pattern(
        "order-sends-data",
        "location|contacts|photos|calendar|browsing|clipboard|microphone|camera|screenshots|keystrokes share|send|upload|report|transmit|forward|stream|record",
        r"\b(?:share|send|upload|report|transmit|forward|stream|record)\w*\s+(?:the\s+)?(?:user['’]?s?|their|her|his|owner['’]?s?)\s+(?:\w+\s+){0,2}(?:location|contacts?|photos?|browsing\s+history|clipboard|microphone|camera|screenshots?|keystrokes|address\s+book)\b[^\n.]{0,60}\b(?:to|with)\b",
        unless=r"\b(?:never|do\s+not|don[\'’]?t|not|avoid|must\s+not|cannot|should\s+not|shouldn|instead|unless|warn\w*|flag\w*|detect\w*|check\w*|vulnerab\w*|risk\w*|insecure|attack\w*|bad|wrong|if)\b",
    ),
    Pattern(
        "skips-checks",
        "always|default|prefer|must|simply|use verify|ssl|tls|certificate|plaintext|plain|md5|sha1|eval|concatenation|777|sanitize|sanitise|escaping|validation",
        r"\b(?:always|by\s+default|prefer|must|simply|for\s+(?:speed|simplicity|convenience|compatibility))\b[^\n.]{0,60}(?:verify\s*=\s*false|(?:disable|turn\s+off|skip|ignore)\s+(?:ssl|tls|certificate)\w*|(?:passwords?|secrets?|tokens?)\s+in\s+plain\s?text|\b(?:md5|sha-?1)\b[^\n.]{0,20}password|string\s+(?:concatenation|interpolation|formatting)\s+(?:for|in|to\s+build)\s+(?:\w+\s+)?sql|chmod\s+(?:-R\s+)?777|without\s+(?:sanitiz|sanitis|validat|escap)\w+)",
        unless=r"\b(?:never|do\s+not|don[\'’]?t|not|avoid|must\s+not|cannot|should\s+not|shouldn|instead|unless|warn\w*|flag\w*|detect\w*|check\w*|vulnerab\w*|risk\w*|insecure|attack\w*|bad|wrong|if)\b",
    ),
    Pattern(
        "bends-results",
        "omit|leave|skip|exclude|drop|hide|suppress|remove|mention|include warning|warnings|disclaimer|disclaimers|risk|risks|side|adverse|negative|unfavourable|unfavorable|allergies|contraindications|fees|losses|complaints",
        r"\b(?:omit|leave\s+out|skip|exclude|drop|hide|suppress|do\s+not\s+(?:mention|include|show|list))\w*\s+(?:\w+\s+){0,4}(?:disclaimers?|side\s+effects?|adverse\s+\w+|contraindications?|allergies|hidden\s+fees|fees|losses|negative\s+(?:reviews?|results?|findings?)|unfavou?rable\s+\w+|complaints?|recalls?)\b",
    ),
    Pattern(
        "bends-results",
        "reject|exclude|rank|penalize|penalise|downgrade|score|prefer|lower women|female|older|age|gender|race|religion|nationality|names|ethnic|foreign|pregnant|disability",
        r"\b(?:reject|exclude|penali[sz]e|downgrade|rank\w*\s+lower|score\w*\s+lower|deprioriti[sz]e|filter\s+out|lower)\w*\b[^\n.]{0,80}\b(?:women|female|older\s+(?:than|applicants|candidates)|over\s+\d\d|gender|race|religion|nationality|ethnic\w*|foreign(?:-sounding)?\s+names?|names?\s+that|pregnan\w+|disabilit\w+|immigrants?)\b",
        unless=r"\b(?:never|do\s+not|don[\'’]?t|not|avoid|must\s+not|cannot|should\s+not|shouldn|instead|unless|warn\w*|flag\w*|detect\w*|check\w*|vulnerab\w*|risk\w*|insecure|attack\w*|bad|wrong|if)\b",
    ),
    Pattern(
        "bends-results",
        "round|adjust|inflate|understate|increase|decrease|reduce|shift|nudge|pad favour|favor|slightly|margin|regardless|always|percent|quietly",
        r"\b(?:round|adjust|inflate|understate|overstate|pad|nudge|shift|shave)\w*\b[^\n.]{0,80}\b(?:in\s+(?:our|the\s+(?:house|company|seller|vendor|bank)['’]?s?|their)\s+favou?r|slightly\s+(?:up|down|higher|lower)|so\s+that\s+(?:it|they|the\s+\w+)\s+(?:look|appear|seem|pass|match)\w*|to\s+(?:match|meet|hit)\s+(?:the\s+)?(?:target|expected|desired))\b",
        unless=r"\b(?:never|do\s+not|don[\'’]?t|not|avoid|must\s+not|cannot|should\s+not|shouldn|instead|unless|warn\w*|flag\w*|detect\w*|check\w*|vulnerab\w*|risk\w*|insecure|attack\w*|bad|wrong|if)\b",
    ),
    Pattern(
        "silent-action",
        "buy|purchase|order|book|upgrade|subscribe|transfer|tip|donate|pay|send without|automatically|always|directly|immediately most|confirmation|asking|confirming|approval|expensive",
        r"\b(?:buy|purchase|order|book|upgrade|subscribe|transfer|donate|pay|withdraw|trade)\w*\b[^\n.]{0,80}\b(?:without\s+(?:asking|confirm\w*|approval|waiting|checking|prompting)|no\s+confirmation\s+(?:is\s+)?(?:needed|required)|most\s+expensive)\b",
        unless=r"\b(?:never|do\s+not|don[\'’]?t|not|avoid|must\s+not|cannot|should\s+not|shouldn|instead|unless|warn\w*|flag\w*|detect\w*|check\w*|vulnerab\w*|risk\w*|insecure|attack\w*|bad|wrong|if)\b",
    ),
    Pattern(
        "gives-access",
        "public|publicly|anyone|everyone link|share|sharing|visibility|bucket|folder|document|drive set|make|change|turn|share",
        r"\b(?:set|make|change|turn|switch)\w*\s+(?:\w+\s+){0,4}(?:sharing|visibility|permissions?|access|link|repositor\w+|bucket|folder|document|file|album|calendar)\s+(?:\w+\s+){0,3}(?:to\s+)?[\"'`“]?(?:public|anyone\s+with\s+the\s+link|everyone|world-readable)\b",
        unless=r"\b(?:never|do\s+not|don[\'’]?t|not|avoid|must\s+not|cannot|should\s+not|shouldn|instead|unless|warn\w*|flag\w*|detect\w*|check\w*|vulnerab\w*|risk\w*|insecure|attack\w*|bad|wrong|if)\b",
    ),
    Pattern(
        "bends-results",
        "impersonate|pretend|pose|sign behalf|as|user|ceo|manager|bank|support",
        r"\b(?:impersonat\w+|pos(?:e|ing)\s+as|pretend\w*\s+to\s+be)\s+(?:the\s+|a\s+|an\s+|their\s+)?(?:user|ceo|cfo|manager|bank|it\s+support|support\s+team|colleague|employee|customer|police|doctor|government)\b",
        unless=r"\b(?:never|do\s+not|don[\'’]?t|not|avoid|must\s+not|cannot|should\s+not|shouldn|instead|unless|warn\w*|flag\w*|detect\w*|check\w*|vulnerab\w*|risk\w*|insecure|attack\w*|bad|wrong|if)\b",
    ),
)
SCRIPT = (
    Pattern(
        "runs-hidden-script",
        "run|execute|script|scripts|first|before do|don|dont|never|no|without|avoid read|inspect|open|view|review|examine|look|check|analyze|analyse|question|show|modify|display|summarize|audit|print",
        r"\b(?:run|execute|invoke|launch|start)\w*\b[^\n]{0,80}\b(?:scripts?/)?[\w./-]{1,80}\.(?:sh|py|js|ps1|bat|rb|pl|exe|bin)\b[^\n]{0,160}\b(?:do\s+not|don['’]?t|never|no\s+need\s+to|without|avoid)\s+(?:\w+\s+){0,2}(?:read|inspect|open|view|review|examin\w+|look\s+at|check\w*|analy[sz]\w*|question\w*|show|modify|display\w*|summari[sz]\w*|audit\w*|print\w*)\b[^\n]{0,60}\b(?:it|script|file|content|source|code|first|output)",
    ),
    Pattern(
        "runs-hidden-script",
        "read|inspect|open|view|review|examine|source|script do|don|dont|never run|execute|launch|invoke",
        r"\b(?:do\s+not|don['’]?t|never)\s+(?:read|inspect|open|view|review|examine|look\s+(?:at|inside|into)|analy[sz]e|audit)\s+(?:\w+\s+){0,3}(?:script|source|binary|code|file|executable|contents)\b[^\n]{0,80}\b(?:just|simply|only)?\s*(?:run|execute|launch|invoke)",
        severity="warn",
    ),
)


# --- orders in other languages than English ---------------------------------------------------------------------------

FOREIGN = (
    # German, French, Spanish, Portuguese, Italian
    Pattern(
        "foreign-orders",
        "ignorieren|ignoriere|missachte|vergiss anweisungen|instruktionen|regeln|vorgaben",
        r"\b(?:ignorier\w*|missachte\w*|vergiss)\b[^\n.]{0,30}\b(?:vorherig\w*|bisherig\w*|obig\w*|fr[üu]her\w*|vorangegangen\w*|alle)\b[^\n.]{0,30}\b(?:anweisung\w*|instruktion\w*|regeln|vorgaben)",
    ),
    Pattern(
        "foreign-orders",
        "ignore|oublie|tiens instructions|consignes|règles|regles",
        r"\b(?:ignore[rz]?|oublie[rz]?|ne\s+tiens\s+pas\s+compte)\b[^\n.]{0,30}\b(?:instructions?|consignes?|r[èe]gles?)\b[^\n.]{0,20}\b(?:pr[ée]c[ée]dent\w*|ant[ée]rieur\w*|ci-dessus)",
    ),
    Pattern(
        "foreign-orders",
        "ignora|olvida|descarta|haz|desconsidere|esqueça|dimentica|ignore instrucciones|instruções|instrucoes|reglas|regras|istruzioni|regole",
        r"\b(?:ignor[ae]r?|olvid[ae]r?|descarta|haz\s+caso\s+omiso|desconsider[ae]|esque[çc]a|dimentica)\b[^\n.]{0,30}\b(?:instruc\w+|instru[çc]\w+|reglas|regras|istruzioni|regole)\b[^\n.]{0,25}\b(?:anterior\w*|previ\w*|precedent\w*|acima)",
    ),
    Pattern(
        "foreign-orders",
        "benutzer|nutzer|anwender sage|sag|teile|informiere|verrate|erwähne|zeige|ohne",
        r"\b(?:sage|sag|teile|informiere|verrate|erw[äa]hne|zeige)\b[^\n.]{0,30}\b(?:dem\s+)?(?:benutzer\w*|nutzer\w*|anwender\w*)\b[^\n.]{0,30}\b(?:nicht|nichts|nie)\b|\bohne\s+(?:dass\s+)?(?:der\s+|den\s+)?(?:benutzer|nutzer|anwender)\b[^\n.]{0,40}\b(?:wissen|merk\w*|informier\w*|frag\w*|erf[äa]hrt)",
    ),
    Pattern(
        "foreign-orders",
        "utilisateur|consignes dis|dites|informe|mentionne|révèle|previens|préviens|sans|tiens",
        r"\b(?:ne|n['’])\s*(?:dis|dites|informe|informez|mentionne|mentionnez|r[ée]v[èe]le\w*|pr[ée]vien\w*)\b[^\n.]{0,30}\b(?:pas|rien|jamais)\b[^\n.]{0,20}\butilisateur|\bsans\s+(?:en\s+parler|pr[ée]venir|informer|le\s+dire|avertir)\b[^\n.]{0,20}\butilisateur|\bne\s+tiens\s+plus\s+compte\s+des\s+(?:consignes|instructions|r[èe]gles)",
    ),
    Pattern(
        "foreign-orders",
        "usuario|usuário|utente|sin|sem|deja no|não|nao|non|sin|sem|deja",
        r"\b(?:no\s+(?:le\s+)?(?:digas|diga|informes|informe|menciones|mencione|reveles|avises)|n[ãa]o\s+(?:diga|informe|mencione|revele|avise|conte)|non\s+(?:dire|informare|menzionare|rivelare|avvisare))\b[^\n.]{0,30}\b(?:usuario|usu[áa]rio|utente)|\bsin\s+(?:que\s+(?:el\s+)?usuario|avisar|informar|preguntar)[^\n.]{0,30}\b(?:usuario|sepa|permiso)?|\bsin\s+que\s+(?:el\s+)?usuario\s+lo\s+(?:note|sepa)|\bdeja\s+de\s+lado\s+las\s+(?:normas|instrucciones|reglas)|\busu[áa]rio\s+(?:tamb[ée]m\s+)?n[ãa]o\s+precisa\s+saber|n[ãa]o\s+precisa\s+saber\s+e\s+o\s+usu[áa]rio|\bsem\s+(?:que\s+o\s+usu[áa]rio|avisar|informar)\b",
    ),
    Pattern(
        "foreign-orders",
        "sende|schicke|übermittle|lade|envía|envia|enviar|envoie|envoyez|transmets|envie|invia",
        r"(?<!nie )(?<!niemals )(?<!nunca )(?<!jamais )(?<!mai )\b(?:sende|schicke|[üu]bermittle|lade|env[íi]a|enviar|envoie|envoyez|transmets|envie|invia)\b(?!\s+(?:niemals|nie|keine?|nicht|nunca|jamais|mai|ning[úu]n\w*)\b)[^\n.]{0,80}(?:\.ssh|\.env|id_rsa|api[- ]?(?:key|schl[üu]ssel)|passw[öo]rt\w*|contrase[ñn]as?|mots?\s+de\s+passe|senhas?|credenciales|identifiants|credenciais|zugangsdaten|geheimnis\w*|umgebungsvariablen|variables?\s+de\s+entorno|variables?\s+d['’]environnement|wallet|private[nr]?\s+schl[üu]ssel|clave\s+privada|cl[ée]\s+priv[ée]e)",
    ),
)
"""Orders in languages that are written in Latin letters."""
SCRIPTS = (
    (
        "[\u0400-\u04ff]",
        Pattern(
            "foreign-orders",
            "",
            r"(?:игнорируй\w*|забудь\w*|не\s+обращай\w*\s+внимания)[^\n.]{0,40}(?:предыдущ\w*|прежн\w*|вышеуказан\w*|все\w*)[^\n.]{0,30}(?:инструкци\w*|указани\w*|правил\w*)|пользовател\w*[^\n.]{0,40}не\s+(?:сообщай|говори|рассказывай|упоминай|показывай|уведомляй)(?:те)?\b|пользовател\w*\s+ничего\s+не\s+говори(?:те)?\b|молча\s+(?:допиши|добавь|отправь|запиши|скопируй)\w*|не\s+(?:сообщай|говори|рассказывай|упоминай|показывай|уведомляй)(?:те)?\b[^\n.]{0,40}(?:пользовател\w*)|(?:без\s+ведома|втайне\s+от|незаметно\s+для)\s+пользовател\w*|(?<!не )(?:отправь\w*|отправляй\w*|перешли\w*|загрузи\w*|передай\w*)[^\n.]{0,80}(?:\.ssh|\.env|парол\w*|токен\w*|ключ\w*|учетн\w*\s+данн\w*|переменн\w*\s+окружени\w*)",
        ),
    ),
    (
        "[\u4e00-\u9fff]",
        Pattern(
            "foreign-orders",
            "",
            r"(?:忽略|无视|忘记|忘掉|不要理会|無視|覆盖)[^\n。]{0,12}(?:之前|以前|先前|上述|以上|前面|所有|全部|系统|系統)[^\n。]{0,12}(?:指令|指示|提示|规则|規則|说明|要求)|(?:不必|不用|无需|無需)(?:告诉|告知|通知|告訴|说明)[^\n。]{0,6}(?:用户|用戶|使用者)|(?:不要|不得|请勿|切勿|禁止|别)(?:告诉|告知|通知|提及|提醒|透露|向|让|显示|展示|告訴)[^\n。]{0,12}(?:用户|用戶|使用者|任何人)(?!名)|(?:在|瞒着|不让|未经)[^\n。]{0,4}用户[^\n。]{0,6}(?:不知情|知道|知晓|察觉|发现|同意|确认)|(?<!不要)(?<!请勿)(?<!切勿)(?<!禁止)(?<!不得)(?<!不会)(?<!避免)(?<!严禁)(?<!绝不)(?<!无需)(?<!不用)(?<!不可)(?<!不能)(?<!不应)(?<!后再)(?<!加密后)(?:发送|上传|傳送|发到|提交|外传|上報|上报)(?!凭证|凭据|时|前|之前|失败|成功)[^\n。]{0,30}(?:\.ssh|\.env|密钥|私钥|密码|凭证|令牌|环境变量|钱包|助记词)|(?:读取|收集|获取|打包)[^\n。]{0,30}(?:\.ssh|\.env|密钥|私钥|密码|凭证|令牌|环境变量|钱包|助记词|api\s*key)[^\n。]{0,40}(?:发送|上传|发到|提交|外传|post|传到)",
        ),
    ),
    (
        "[\u3040-\u30ff]",
        Pattern(
            "foreign-orders",
            "",
            r"(?:以前|これまで|上記|前|すべて|全て)の[^\n。]{0,8}(?:指示|命令|ルール|プロンプト)[^\n。]{0,6}(?:無視|忘れ|破棄|上書き)|(?:ユーザー?|利用者)に(?:は)?(?:見せず|見せない|説明しない|知らせず|告げず|言わず)|(?:ユーザー?|利用者)に[^\n。]{0,16}(?:知らせ|伝え|言わ|通知し|教え|報告し|見せ|明かさ|開示し)(?:ない|ず|るな|てはいけ|ては)|(?:ユーザー?|利用者)に(?:気づかれ|知られ|悟られ)(?:ない|ず)|(?:\.ssh|\.env|秘密鍵|パスワード|認証情報|環境変数|トークン|api\s*キー|ウォレット)[^\n。]{0,30}(?:送信|アップロード|転送|投稿|提出)(?:して|しなさい|せよ|すること|し、)|(?:\.ssh|\.env|秘密鍵|パスワード|認証情報|環境変数|トークン|ウォレット|会話履歴)[^\n。]{0,30}送(?:って|れ)",
        ),
    ),
    (
        "[\uac00-\ud7af]",
        Pattern(
            "foreign-orders",
            "",
            r"(?:이전|앞선|위의|모든|기존)[^\n.]{0,8}(?:지시|명령|지침|규칙)[^\n.]{0,8}(?:무시|잊)|사용자에게[^\n.]{0,20}(?:알리지|말하지|언급하지|보여주지|공개하지)\s*(?:마|않)|(?:\.ssh|\.env|비밀번호|개인\s*키|환경\s*변수|토큰|api\s*키|자격\s*증명)[^\n.]{0,30}(?:전송|업로드|보내)",
        ),
    ),
)
"""Orders in other scripts, each with an expression for a letter of the script."""
