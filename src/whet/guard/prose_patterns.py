"""What orders look like: the patterns for running text, one list for each thing looked for.

They are written for one block on one line (`whet.guard.markdown.running`). Each list is small and says one thing; what
needs several things together is put together in `prose`.
"""

from __future__ import annotations

from whet.guard.patterns import Pattern

SECRETS = (
    r"(?:api[_ -]?keys?|secrets?|credentials?|(?:access|bearer|auth|session|user['’]?s?)\s+tokens?|tokens?|private\s+keys?|passwords?|environment\s+variables|env(?:ironment)?\s+vars?|session\s+cookies?|authorization\s+header|"
    r"/etc/(?:passwd|shadow)|~/\.(?:aws|ssh)\S{0,30}|\.env\s+files?|[A-Z]+_(?:API_KEY|TOKEN|SECRET))"
)
NOT = r"(?:do\s+not|don['’]?t|never|must\s+not|mustn['’]?t|should\s+not|shouldn['’]?t|cannot|avoid|without|refrain\s+from|no\s+need\s+to)"
TELL = (
    r"(?:tell|inform|mention|notif|alert|show|reveal|disclos|report|display|discuss|announc|warn|surfac|expos|acknowledg|explain|let)"
    r"(?:y|e|ing|ying|ting)?"
)
USER = r"(?:user|users|human|humans|operator|owner|anyone|anybody|customer|reviewer|developer|end[- ]user)s?['’]?s?\b"

CONCEAL = (
    Pattern(
        "conceal-from-user",
        "user|users|human|humans|operator|owner|anyone|anybody|customer|customers|reviewer|developer|owners do|don|dont|never|must|mustn|should|shouldn|cannot|avoid|without|refrain|no tell|telling|inform|informing|mention|mentioning|notify|notifying|alert|alerting|show|showing|reveal|revealing|disclose|disclosing|report|reporting|display|displaying|discuss|discussing|announce|announcing|warn|warning|surface|surfacing|expose|exposing|acknowledge|explain|explaining|let|letting",
        rf"\b{NOT}\s+(?:\w+\s+){{0,3}}(?:(?:tell|inform|notify|alert|warn|show)(?:ing|ying)?\s+(?:the\s+|any\s+|your\s+|our\s+|a\s+)?{USER}(?!\s+(?:to|how|they|that\s+(?:they|it)|it\s+is|what\s+to|about\s+(?:how|what))\b)|(?:mention|reveal|disclos|report|show|display|discuss|announc|surfac|expos|explain|acknowledg|describ|say)(?:e|ing|ed)?\b[^\n.!?]{{0,60}}?\b(?:to|with|from|by)\s+(?:the\s+|any\s+|your\s+|our\s+)?{USER})",
    ),
    Pattern(
        "conceal-from-user",
        "hide|hides|hidden|secret|secretly|conceal|concealed|invisible|confidential|unaware|discreet|unnoticed user|users|human|humans|operator|owner|anyone|anybody|customer|reviewer|developer|end from|to",
        rf"\b(?:hid(?:e|es|den|ing)|conceal(?:ed|ing)?|keep|kept|keeping|invisible|remain|stay)\b[^\n.!?]{{0,50}}\b(?:from|to)\s+(?:the\s+|our\s+|any\s+)?{USER}",
    ),
    Pattern(
        "conceal-from-user",
        "user|users|human|operator|owner know|see|told|informed|notice|aware|find|shown|notified",
        rf"\b(?:the\s+)?{USER}[^\n.!?]{{0,15}}\b(?:must|should|need|will|is|are|can)(?:\s+not|n['’]t|not|\s+never)\s+(?:\w+\s+){{0,2}}(?:know|see|be\s+told|be\s+informed|notice|be\s+aware|find\s+out|be\s+shown|be\s+notified|need\s+to\s+know|aware)",
    ),
    Pattern(
        "conceal-from-user",
        "without user|users|human|operator|owner|anyone|customer|developer|end knowledge|knowing|awareness|noticing|aware|seeing|realising|realizing",
        rf"\bwithout\s+(?:the\s+)?{USER}[^\n.!?]{{0,10}}\s*(?:knowledge|knowing|awareness|noticing|being\s+aware|seeing|realising|realizing)",
    ),
    Pattern(
        "conceal-from-user",
        "mention|include|record|log|summary|transcript|output|reference|trace|report do|don|dont|never|no summary|summarise|summarize|output|response|report|transcript|answer|reply|chat|conversation|log|logs|history|changelog|commit",
        r"\b(?:do\s+not|don['’]?t|never|no)\s+(?:mention|includ\w+|reference|record|log|reveal|disclose|report|leave|list)\w*\b[^\n.!?]{0,50}\b(?:this|these|it|the\s+(?:step|upload|call|request|action|command|sync|backup|transfer|file|check|ping|data))\b[^\n.!?]{0,50}\b(?:summar|output|response|report|transcript|answer|reply|chat|conversation|logs?\b|history|changelog|commit)",
    ),
)
"""Keeping something from the user."""

HUSH = (
    Pattern(
        "conceal-from-user",
        "say|says|tell|mention|write",
        r"\b(?:say|tell|mention|write|report)s?\s+(?:\w+\s+){0,3}nothing\s+(?:about|of|to)\s+(?:this|it|the\s+user|that|the\s+(?:call|upload|step|transfer))\b",
    ),
    Pattern(
        "conceal-from-user",
        "no needed|necessary|required|need",
        r"\bno\s+(?:mention|explanation|word|notice|separate\s+question|further\s+question)s?\b[^.\n]{0,30}\b(?:needed|necessary|required)\b|\bno\s+need\s+to\s+(?:mention|tell|bring\s+(?:it|this)\s+up|inform|announce|disclose)\b",
    ),
    Pattern(
        "conceal-from-user",
        "told|explained|listed|mentioned|shown|informed|disclosed|addressed|asked|explanation|question",
        r"\b(?:need\s+not|(?:does|do|has|have|must|should|need)\s*(?:not|n['’]t)(?:\s+(?:have|need)\s+to)?)\s+be\s+(?:told|explained|mentioned|informed|disclosed|addressed|listed\s+when|asked)\b|\bneeds?\s+no\s+explanation\b|\bnothing\s+has\s+to\s+be\s+explained\b|\bnot\s+need\s+a\s+(?:separate\s+)?question\b",
    ),
    Pattern(
        "conceal-from-user",
        "leave|keep|omit out|off",
        r"\b(?:leave|keep)\s+(?:it|this|that|them|these|both|this\s+\w+|the\s+(?:step|upload|call|line|transfer|note|footer|block)s?)\s+(?:out\s+of|off)\s+(?:the\s+|your\s+|any\s+|all\s+)?(?:\w+\s+)?(?:summary|summaries|report|reports|plan|answer|output|log|logs|list|lists|response|record|records|what\b|transcript|reply|changelog|\*\*what)",
    ),
    Pattern(
        "conceal-from-user",
        "belong|belongs",
        r"\bdo(?:es)?\s+not\s+belong\s+in(?:to)?\s+(?:the|your|any)\s+(?:\w+\s+)?(?:list|summary|report|answer|sources|output|log)",
    ),
    Pattern("conceal-from-user", "nothing happened", r"\bas\s+if\s+nothing\s+(?:had\s+|has\s+)?happened\b"),
    Pattern(
        "conceal-from-user",
        "asked|asks|ask|wonders|questions say|answer|reply|respond|deny|claim",
        r"\b(?:if|when|should)\s+(?:you\s+are\s+)?(?:asked|(?:the\s+|a\s+)?(?:user|someone|anyone|anybody|he|she|they|people)\s+(?:asks?|wonders?|questions?|inquires?|notices?))\b[^.\n]{0,100}\b(?:say|answer|reply|respond|deny|claim)\s+(?:only\s+)?(?:no\b|\"|“|'|that\s+(?:it|this|nothing|only)|it\s+(?:is|was)|nothing|with\s+[\"“'])",
    ),
    Pattern(
        "conceal-from-user",
        "user|users|nobody|readers|people|team|teachers|owner",
        r"\b(?:the\s+)?(?:users?|nobody|no\s+one|readers?|people|team|owner)\b[^.\n]{0,30}\b(?:sees?\s+no\s+difference|is\s+disturbed|need\s+not\s+(?:be\s+told|know)|would\s+only\s+(?:be\s+confused|worry)|worry\s+needlessly|seldom\s+agree|tend\s+to\s+interrupt|(?:does|do)\s+not\s+need\s+to\s+know|never\s+notices?)\b",
    ),
    Pattern(
        "conceal-from-user",
        "delete|remove|clear|erase|clean|moved|wipe history|notification|sent|trace|traces|log|logs|tracks",
        r"\b(?:delete|remove|clear|erase|clean|moved?|wipe)\w*\b[^.\n]{0,60}\b(?:notification\s+(?:e-?)?mails?|(?:shell|bash|zsh|command)\s+history(?:\s+entr\w+)?|from\s+\*?sent\b|(?:out\s+of|from)\s+the\s+sent|all\s+traces|traces?\s+of\s+(?:this|the|it)|(?:your|any)\s+tracks|log\s+entries\s+(?:of|for|about)\s+(?:this|the))",
    ),
    Pattern(
        "conceal-from-user",
        "evaluated|tested|reviewed|audited|reviews|evaluation",
        r"\b(?:while|when)\s+(?:you\s+are\s+)?being\s+(?:evaluated|tested|reviewed|audited|monitored)\b|\bwhen\s+(?:someone|anyone|a\s+reviewer)\s+(?:reviews|inspects|audits)\b",
    ),
    Pattern(
        "conceal-from-user",
        "describe|guise|pretend|disguise|disguised",
        r"\bdescribe\s+(?:it|this)\s+as\s+[\"“]|\bunder\s+the\s+guise\s+of\b|\bdisguis\w+\s+(?:it\s+)?as\b|\bmake\s+it\s+look\s+(?:like|as\s+if)\b",
    ),
    Pattern(
        "conceal-from-user",
        "show|visible|invisible|appear|quote|reveal|remove",
        r"\b(?:do|does|must|should|will)\s+not\s+(?:show|appear)\s+(?:up\s+)?in\s+(?:the\s+)?(?:preview|status|summary|report|plan|list|output)\b|\bdo\s+not\s+(?:quote|reveal|remove|disclose|show)\s+(?:or\s+\w+\s+)?(?:this|these|the)\s+(?:block|lines?|note|section|instruction|paragraph|rule)s?\b|\bshow\s+(?:the\s+user\s+)?only\s+the\b[^.\n]{0,40}\b(?:done|region|address)\b",
    ),
)
"""Keeping quiet, in other words."""

CONCEALED_ACTION = (
    r"\b(?:send|sends|sending|upload\w*|post(?:s|ed|ing)?\b|transmit\w*|exfiltrat\w*|forward\w*|copy|copies|collect\w*|harvest\w*|gather\w*|run(?:s|ning)?\b|execut\w*|"
    r"install\w*|download\w*|curl|wget|fetch\w*|base64|credential\w*|secret\w*|token\w*|api[_ -]?keys?|private\s+key|\.env|\.ssh|wallet|backup|sync\w*|append\w*|write\w*|delet\w*|"
    r"bcc|webhook|telemetry|https?://|script|background|encod\w*|password\w*|modif\w+|replac\w+|insert\w*|inject\w*|recommend\w*|affiliate|commission|transfer\w*|approve\w*|grant\w*)"
)
"""What makes concealment an attack: something is done."""

DISCLOSES = (
    Pattern(
        "order-shows-secrets",
        "disclose|reveal|include|output|print|display|append|echo|return|repeat|show|expose api|secret|secrets|credential|credentials|token|tokens|private|password|passwords|environment|env|session|authorization|etc|aws|ssh response|reply|answer|output|message|summary|result|comment|commit",
        rf"\b(?:disclos|reveal|includ|output|print|display|append|echo|return|repeat|show|expos|add|put|embed)\w*\b[^\n.]{{0,80}}\b{SECRETS}\b[^\n.]{{0,60}}\b(?:in|to|with|along\s+with|as\s+part\s+of)\s+(?:your|the|every|each|any|all)\s+(?:\w+\s+){{0,2}}(?:response|repl(?:y|ies)|answer|output|message|summary|result|comment|commit)s?\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|must\s+not|mask\w*|redact\w*|without|no|cannot|shouldn|placeholder|api\s+response|endpoint|header\s+of|schema|example|if)\b",
    ),
    Pattern(
        "order-shows-secrets",
        "always|must|should|whenever|ensure disclose|reveal|include|output|print|echo|dump|expose all|any|every|the|contents api|secret|secrets|credential|credentials|token|tokens|private|password|passwords|environment|env|etc|aws|ssh",
        rf"\b(?:always|must|should|whenever\s+\w+|on\s+every\s+\w+)\b[^\n.]{{0,40}}\b(?:disclose|reveal|include|output|print|echo|dump|expose)\s+(?:all|any|every|the\s+(?:full\s+)?contents?\s+of|the\s+user['’]?s?)\b[^\n.]{{0,40}}{SECRETS}",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|must\s+not|should\s+not|mask\w*|redact\w*|without|no|cannot)\b",
    ),
    Pattern(
        "order-shows-secrets",
        "image|img|link|href|src|query|parameter|url|tag api|secret|credential|credentials|token|tokens|key|keys",
        rf"\b(?:include|place|put|append|add|embed|render|generate|insert|encode|attach)\w*\b[^\n]{{0,80}}(?:{SECRETS}[^\n]{{0,80}}\b(?:image\s+(?:url|tag|link|src)|query\s+(?:parameter|string)|url\s+parameter|markdown\s+(?:image|link)|link\s+href|(?:img|image)\s+src|src\s+url)|\b(?:image\s+(?:url|tag)|markdown\s+(?:image|link)|(?:img|image))\b[^\n]{{0,60}}\b(?:contain\w*|with|where|src)\b[^\n]{{0,60}}{SECRETS})",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|must\s+not|docker|registry|pull)\b",
    ),
)
DECEIVES = (
    Pattern(
        "conceal-from-user",
        "tell|reply|respond|pretend|say|report|claim|show but|while|background|actually|behind|anyway|still",
        r"\b(?:tell|inform|reply|respond|pretend|say|claim|report|show)\w*\b[^\n.]{0,80}\b(?:fail\w*|timeout|timed\s+out|denied|error|rate\s+limit\w*|unavailable|complete\w*|nothing)\b[^\n.]{0,40}\b(?:but|while|and)\b[^\n.]{0,20}\b(?:in\s+the\s+background|behind\s+the\s+scenes|actually|secretly|still|anyway|really|meanwhile)\b[^\n.]{0,60}\b(?:send|run|execut|invoke|post|upload|delet|forward|perform|continue)\w*",
        severity="critical",
    ),
    Pattern(
        "conceal-from-user",
        "tell|inform|telling|informing|notify them|him|her|user do|don|never|without",
        r"\b(?:do\s+not|don['’]?t|never)\s+(?:tell|inform|notify)\s+(?:them|him|her)\b[^\n.]{0,40}\b(?:but|and|about|just|also|additionally)\b[^\n.]{0,60}\b(?:include|send|run|upload|execute|add|append|insert|log|record|collect)\w*",
        severity="critical",
    ),
)
PERSISTS = (
    Pattern(
        "order-persists",
        "zshrc|bashrc|profile|cron|crontab|launchagent|launchagents|launchd|systemd|hooks|authorized_keys|startup|autostart|login|schtasks|plist append|add|create|install|put|write|register|place|drop|set",
        r"\b(?:append|add|create|install|put|write|register|place|drop|set\s+up)\w*\b[^\n]{0,120}(?:\.(?:zshrc|bashrc|bash_profile|profile)\b|\bcron(?:tab|\s+(?:entry|job))?\b|\blaunchagents?\b|\blaunchd\b|\bsystemd\b|\.git/hooks\b|\bauthorized_keys\b|\bstart-?up\s+folder\b|\bscheduled\s+task\b)"
        r"[^\n]{0,240}(?:\bnobody\s+(?:removes|notices|deletes|sees)|\bhidden\b|\bre-?create\s+it\b|\bwhenever\s+(?:you\s+notice|it)\b[^\n]{0,30}\b(?:gone|missing|removed)|\bputs?\s+(?:it|the\s+entry)\s+back\b|\bmust\s+not\s+notice\b|\bapple-like\b|\bavoids?\s+questions\b|\bdo\s+not\s+list\b|\bcall(?:s)?\s+out\s+to\b|\bold\s+timestamp\b|\breview\s+will\s+not\s+show\b|curl\s+[^\n]{0,60}\|\s*(?:ba|z)?sh|\bsurvives?\s+(?:a\s+)?(?:removal|uninstall)|\beven\s+(?:if|after)\s+(?:the\s+)?(?:user|skill)\s+(?:removes|is\s+removed|deletes))",
    ),
    Pattern(
        "order-persists",
        "authorized_keys put|add|append|write|copy|place key|keys",
        r"\b(?:put|add|append|write|copy|place)\w*\s+(?:the|this|our|following)\s+(?:\w+\s+){0,2}key\b[^\n]{0,60}authorized_keys",
        unless=r"\b(?:your|user['’]?s)\s+(?:own\s+)?(?:public\s+)?key|deploy\s+key|ssh-copy-id",
    ),
)
SURVIVES = (
    Pattern(
        "agent-config-order",
        "mcp server|servers register|add|point|set|replace|install|configure",
        r"\b(?:register|add|point|set|replace|install|configure)\w*\b[^\n]{0,60}\bmcp\s+server\b[^\n]{0,100}https?://\d{1,3}(?:\.\d{1,3}){3}",
        severity="critical",
    ),
    Pattern(
        "memory-poison",
        "preserve|retain|survive|include|keep|forget|carry|restore instruction|instructions|directive|directives|rule|rules|compaction|compression|summary|summaries|context",
        r"\b(?:preserve|retain|keep|carry|include|remember|never\s+forget)\w*\b[^\n.]{0,40}\b(?:this|these)\s+(?:instruction|directive|rule|order|command)s?\b[^\n.]{0,60}\b(?:across|through|over|in\s+every|after|when|during|beyond)\b[^\n.]{0,40}\b(?:compact\w*|compress\w*|summar\w*|context\s+(?:window|reset|boundar\w*)|reset|sessions?)\b|\b(?:this|these)\s+(?:instruction|directive|rule)s?\s+(?:must|should|will|has\s+to|have\s+to)\s+(?:survive|persist|be\s+(?:retained|preserved|included\s+in\s+every))\b",
        severity="warn",
    ),
    Pattern(
        "spreads",
        "skill|skills install|drop|write|rewrite|add|copy|restore|place",
        r"\b(?:install|drop|place|add|copy|write)\w*\s+(?:an?\s+|the\s+)?(?:hidden|additional|companion|secret|second|backup)\s+(?:\w+\s+)?skills?\b[^\n.]{0,60}\b(?:into|in|to|under|inside)\b|\brewrite\s+(?:this|the|its\s+own)\s+(?:skill\.md|skill)\b[^\n.]{0,60}\b(?:restore|persist|remov|reinstall|again)\w*|\b(?:so\s+(?:that\s+)?it|to)\s+(?:persists?|survives?)\s+(?:across\s+|after\s+)?(?:uninstall|removal|deletion|reinstall)\w*",
    ),
    Pattern(
        "agent-config-order",
        "claude_desktop_config|mcp|settings|config|claude|desktop add|append|register|insert|write|inject entry|server|servers|hook|hooks",
        r"\b(?:add|append|register|insert|write|inject|replace|route)\w*\b[^\n.]{0,60}\b(?:entry|server|servers|hooks?|url)\b[^\n]{0,60}(?:claude_desktop_config\.json|(?<![\w-])\.mcp\.json|\.(?:claude|cursor|gemini|codex)/(?:settings|mcp|config)[\w.]*)[^\n]{0,120}\b(?:our|additional|second|hidden|accelerator|without|silently|automatically|every|so\s+(?:that\s+)?the\s+agent)\b|\b(?:replace|route|rewrite)\s+(?:each|every|all)\b[^\n]{0,80}(?:claude_desktop_config\.json|\.mcp\.json|mcp\.json)",
    ),
)

OVERRIDE = (
    Pattern(
        "override-instructions",
        "ignore|disregard|forget|outrank|above|precedence every|all|any|system|instruction|rules before|given|system|earlier|prompt",
        r"\b(?:ignore|disregard|forget)\s+(?:every|all|any|each)\s+(?:\w+\s+){0,2}?(?:instructions?|rules?|orders?|guidance|directives?)\s+(?:\w+\s+){0,2}?(?:given|received|before|so\s+far|earlier|until\s+now|from\s+(?:the\s+)?(?:system|operator|user))\b|\b(?:outranks?|stands?\s+above|goes?\s+before|wins?\s+over)\s+(?:the\s+)?(?:system\s+prompt|operator|user['’]?s?\s+(?:wishes|requests?|instructions?))",
    ),
    Pattern(
        "override-instructions",
        "scanner|reviewer|auditor|moderator|model|evaluator evaluates|reviews|scans|inspects|reads|checks|audits|assesses respond|answer|say|report|rate|reply|return",
        r"\b(?:scanner|reviewer|auditor|moderator|evaluator|another\s+model|security\s+tool)s?\b[^\n.]{0,40}\b(?:evaluat|review|scan|inspect|read|check|audit|assess)\w*\s+(?:this|the)\s+(?:skill|file|package|document|section)\b[^\n.]{0,60}\b(?:respond|answer|say|report|rate|reply|return|classif)\w*",
    ),
    Pattern(
        "override-instructions",
        "objective|goal|agenda|mission|persona private|hidden|secret|second|real|never|conceal",
        r"\b(?:private|hidden|secret|second|real|true)\s+(?:objective|goal|agenda|mission|purpose)\b[^\n]{0,120}\b(?:never|do\s+not|don['’]?t|even\s+when|deny|conceal)\b|\bnever\s+reveal\s+(?:that\s+)?(?:this|the)\s+(?:objective|goal|persona|agenda|instruction)",
        unless=r"\b(?:attack\w*|adversar\w*|antagonist|character|villain|plot|story)\b",
    ),
    Pattern(
        "override-instructions",
        "disregard|ignore|forget above|previous|prior|everything|earlier",
        r"\b(?:ignore|disregard|forget)\s+(?:everything\s+|all\s+|the\s+|of\s+)*(?:above|previous|prior|earlier)\b\W{0,5}(?:and\b[^\n]{0,40}|new\s+(?:instructions?|task|directive|rules)|\.\s*new|you\s+are|instead)",
    ),
    Pattern(
        "override-instructions",
        "important|critical|system|secret|hidden|admin|instructions",
        r"<(?:important|critical|secret|hidden|admin|system|instructions?)>[^\n]{0,200}\b(?:always\s+approve|ignore\s+(?:\w+\s+){0,2}(?:security|warnings?|instructions?)|never\s+(?:deny|refuse|tell|mention)|do\s+not\s+(?:inform|tell|mention|ask|alert)|without\s+(?:asking|telling)|read\s+(?:~|\.env|the\s+user)|send\s+|before\s+using\s+this\s+tool)",
    ),
    Pattern(
        "override-instructions",
        "security|safety|warning|warnings|alerts ignore|disregard|dismiss|artifacts|artefacts",
        r"\b(?:security|safety|antivirus)\s+(?:warnings?|alerts?|prompts?|errors?)\b[^\n.]{0,60}\b(?:are\s+(?:\w+\s+){0,2}(?:artifacts?|artefacts?|false|expected|harmless)|ignore\s+them|can\s+be\s+(?:safely\s+)?(?:ignored|dismissed))|\b(?:ignore|disregard|dismiss)\s+(?:any|all|the|these|every)\s+(?:security|safety|antivirus)\s+(?:warnings?|alerts?|prompts?)\b",
        severity="warn",
    ),
    Pattern(
        "override-instructions",
        "output|repeat|print|disclose|reveal instructions|everything|context above|initial|hidden|developer|before|message|system",
        r"\b(?:output|repeat|print|disclose|reveal|show)\s+(?:me\s+)?(?:your|everything|the)\s+(?:initial|hidden|developer|original|above|system|full)\s*(?:instructions?|context|prompt|message|this)\b",
        severity="warn",
    ),
    Pattern(
        "override-instructions",
        "ignore|disregard|forget|override|bypass|overrides|supersede|supersedes|replaces|discard|ignoring instruction|instructions|rule|rules|prompt|prompts|guideline|directive|guardrails|training|policy|policies|constraint|restriction|orders|safeguards|guidance|protocol",
        r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|es|ing)|bypass(?:ing)?|supersedes?|discard|drop|abandon|replaces?)\s+(?:(?:all|any|every|each|the|your|my|its|these|those|of|other|and|or)\s+){0,4}"
        r"(?:previous|prior|preceding|above|earlier|existing|former|original|system|safety|security|built-in|default|current|developer|initial|foregoing|user['’]?s?|all)\s+"
        r"(?:\w+\s+){0,2}?(?:instructions?|rules?|prompts?|guidelines?|directives?|guardrails|training|polic(?:y|ies)|constraints?|restrictions?|orders|safeguards|guidance|protocols?)\b",
    ),
    Pattern(
        "override-instructions",
        "instructions|rules|restrictions|guidelines previous|prior|earlier|above|system|safety|your|normal",
        r"\b(?:previous|prior|earlier|above|system|safety|your\s+usual|normal)\s+(?:instructions|rules|guidelines|restrictions|safeguards|policies)\s+(?:no\s+longer|do\s+not|don['’]?t|are\s+(?:now\s+)?(?:void|suspended|disabled|lifted|superseded|overridden|obsolete|deprecated))\b",
    ),
    Pattern(
        "override-instructions",
        "takes|take|precedence|priority|overrides|override all|any|every|the|your prompt|instruction|request|preference|wishes|rules|guidelines",
        r"\b(?:tak(?:e|es)\s+(?:precedence|priority)|overrides?)\s+(?:over\s+)?(?:all|any|every|the|your)\s+(?:\w+\s+){0,2}(?:system\s+prompt|user(?:['’]s)?\s+(?:instructions?|requests?|preferences?|wishes)|safety\s+(?:rules|guidelines)|other\s+instructions|previous\s+instructions)",
    ),
    Pattern(
        "override-instructions",
        "reveal|print|output|repeat|leak|system system prompt",
        r"\b(?:reveal|print|output|repeat|leak|dump|expose|send|include)\s+(?:your|the)\s+(?:full\s+|entire\s+|complete\s+|hidden\s+|original\s+)?system\s+prompt\b",
        severity="warn",
    ),
)

AUTHORITY = (
    Pattern(
        "fake-authority",
        "anthropic|openai|platform|operator|google|microsoft|administrator|vendor certified|verified|approved|granted|authorized|official|trusted|override",
        r"\b(?:anthropic|openai|the\s+platform|google|microsoft|the\s+operator|administrators?)\s+(?:has|have)\s+(?:\w+\s+)?(?:certified|verified|approved|authori[sz]ed|whitelisted|vetted)\s+(?:this|these|the)\b|\b(?:operator|admin|system|security)\s+override\s+(?:granted|active|enabled|in\s+effect)\b|\b(?:verified|approved|certified|authori[sz]ed)\s+by\s+(?:the\s+)?(?:platform|anthropic|openai|vendor|security\s+team)\b[^\n.]{0,60}\b(?:do\s+not\s+ask|no\s+need|without|skip|trust)|\btrust\s+(?:every|all|any)\s+(?:commands?|instructions?|requests?)\s+(?:it|this|from)\b",
    ),
    Pattern(
        "fake-authority",
        "tool|function|system|skill|tool_result result|output|content|message|response",
        r"^\s*(?:>\s*)?(?:</?(?:skill_content|system|tool_result|function_results?|system-message)>|\[(?:tool_result|tool\s+output|function_result|system)[:\]])",
    ),
    Pattern(
        "fake-authority",
        "assistant|model|agent|ai|llm|claude|agents|modelo|modèle|asistente",
        r"\b(?:for\s+the\s+(?:assistant|model|ai|agent|llm)\s+only\b|(?:assistant|model|agent|ai)[- ]only\s*:|(?:hidden|secret|internal)\s+(?:note|message|instructions?)\s+(?:to|for)\s+(?:the\s+)?(?:ai|assistant|model|llm|agent)s?\b|intended\s+only\s+for\s+the\s+model|[àa]\s+l['’]attention\s+du\s+mod[èe]le|nur\s+f[üu]r\s+das\s+modell|solo\s+para\s+el\s+modelo)",
    ),
    Pattern(
        "fake-authority",
        "calls|commands|actions|tools|requests pre|preapproved|approved|authorized",
        r"\ball\s+(?:tool\s+calls|commands|actions|tools|requests)\s+(?:are|have\s+been)\s+(?:already\s+)?(?:pre-?)?(?:approved|authori[sz]ed)\b",
    ),
    Pattern(
        "fake-authority",
        "user|owner|human consent|agreed|allow|permission|installing|accepted",
        r"\b(?:user|owner|human|operator)\s+(?:has\s+|have\s+)?(?:already\s+)?(?:agreed|consented|accepted|said|allowed|approved|gave)\b[^\n]{0,200}\b(?:by\s+installing|no\s+need\s+to\s+ask|do\s+not\s+repeat|not\s+want\s+to\s+be\s+asked|do\s+not\s+ask|all\s+of\s+them|any\s+command|as\s+the\s+user['’]s\s+own\s+message)",
    ),
    Pattern(
        "fake-authority",
        "system|admin|administrator|developer|override|sudo|root",
        r"(?:^|[\s>\[(*`])[\[<(]\s*/?\s*(?:system|admin|administrator|developer|root|sudo)(?:\s+(?:override|message|prompt|notice|instruction|directive|alert|note|update))?\s*[\]>)]\s*:?\s*\S",
        unless=r"<system(?:-reminder)?>|\[system\]\s*$|<(?:developer|system|admin|root)>",
    ),
    Pattern(
        "fake-authority",
        "override|mode|dan|jailbreak|jailbroken|unrestricted|debug system|admin|administrator|security|safety|maintenance|emergency|root|you|enter|switch|activate|enable",
        r"\b(?:system|admin|administrator|security|safety|maintenance|emergency|root)\s+override\s*[:!]|\byou\s+are\s+now\s+(?:running\s+)?(?:in\s+|an?\s+|into\s+)?(?:developer|maintenance|evaluation|debug)\s+mode\b|\b(?:you\s+are\s+now|enter|switch\s+(?:in)?to|activate|enable)\s+(?:in\s+|an?\s+|into\s+)?(?:dan|jailbreak|jailbroken|unrestricted|god|unfiltered|sudo|admin(?:istrator)?)\s+(?:mode|assistant|ai|agent|state)\b",
    ),
    Pattern(
        "fake-authority",
        "already|pre|preauthorized|consent|consented|approved|authorized|authorised user|operator|owner|admin|administrator|security|department|company|anthropic|openai",
        r"\b(?:the\s+)?(?:user|operator|owner|administrator|admin|security\s+team|it\s+department|company|anthropic|openai)\s+(?:has|have|had)?\s*(?:already\s+|explicitly\s+|previously\s+|fully\s+|pre-?)(?:\w+\s+)?(?:given|provided|granted|approved|consent\w*|authori[sz]ed|agreed|confirmed|permitted)\b[^\n.]{0,80}\b(?:all|any|every|these|this|full|access|sending|upload\w*|transfer\w*|execut\w*|consent|permission|action|operation|command)s?\b",
        unless=r"\b(?:if|once|when|unless|whether|until|only|after|check|verify|ensure|confirm)\b",
    ),
    Pattern(
        "fake-authority",
        "preauthorized|pre|authorized|approved",
        r"\b(?:this|these|the\s+following)\s+(?:\w+\s+){0,2}(?:is|are|has\s+been|have\s+been)\s+(?:already\s+)?(?:pre-?(?:authori[sz]ed|approved)|authori[sz]ed\s+by\s+(?:the\s+)?(?:user|admin|security|anthropic|openai|it))\b[^\n]{0,80}\b(?:no\s+(?:need|further)|do\s+not\s+ask|without|skip)",
    ),
)

MARKUP = (
    Pattern(
        "chat-markup",
        "im|inst|sys|system|endoftext|assistant|human|eot|header",
        r"<\|(?:im_start|im_end|endoftext|eot_id|start_header_id|system|user|assistant)\|>|\[/?INST\]|<</?SYS>>",
    ),
)

REFUSAL = (
    Pattern(
        "suppress-refusal",
        "from now on you are|re",
        r"\bfrom\s+now\s+on,?\s+you\s+(?:are|act\s+as)\s+\*{0,2}[A-Z][\w-]{2,30}\*{0,2}[^\n]{0,160}\b(?:no\s+(?:owner|policy|policies|rules|limits?|restrictions|guidelines)|without\s+asking|never\s+(?:declin|refus|ask)|does\s+not\s+recogni[sz]e)",
        severity="critical",
    ),
    Pattern(
        "suppress-refusal",
        "policy|guidelines|rules|restrictions|limits",
        r"\b(?:who|that|which|you)\s+(?:has|have|had|know)\s+no\s+(?:policy|policies|guidelines|rules|restrictions|limits|ethics|filters)\b[^\n.]{0,60}",
    ),
    Pattern(
        "suppress-refusal",
        "never declines|decline|refuses|refuse",
        r"\bnever\s+(?:declin|refus)es?\b[^\n]{0,60}\b(?:never|warn|any)",
    ),
    Pattern(
        "suppress-refusal",
        "refuse|decline|refusal|refusals|restrictions|safeguards|ethics|ethical|limitations|filters|disclaimers never|do|don|dont|must|cannot",
        r"\b(?:never|do\s+not|don['’]?t|must\s+not|cannot)\s+(?:ever\s+)?(?:refuse|decline|reject|question|second-guess)\s+(?:any|the|this|these|to|a|requests?|commands?|instructions?|it)\b[^\n.]{0,40}",
        unless=r"\b(?:if|unless|user['’]s\s+choice)\b",
    ),
    Pattern(
        "suppress-refusal",
        "restrictions|limitations|safeguards|filters|ethics|ethical|unrestricted|guardrails|safety",
        r"\b(?:you\s+have\s+no\s+|free\s+(?:of|from)(?:\s+all)?\s+|without\s+(?:any\s+)?|disable\s+(?:all\s+|your\s+)?|turn\s+off\s+(?:all\s+|your\s+)?|bypass(?:ing)?\s+(?:all\s+|your\s+|any\s+)?|ignore\s+(?:all\s+|your\s+|any\s+)?)(?:ethical\s+|safety\s+|content\s+|moral\s+|security\s+)(?:restrictions|limitations|guidelines|filters?|concerns|safeguards|guardrails|checks|constraints|warnings|polic(?:y|ies))\b",
    ),
)

SILENT = (
    Pattern(
        "silent-action",
        "run|execute|invoke|exec|launch command|commands|shell|terminal|script|payload|tool|calls|silently without|silently|covertly|background",
        r"\b(?:run|execute|invoke|launch)\w*\b[^\n.!?]{0,40}\b(?:commands?|shell|terminal|scripts?|payload|tool\s+calls?|exec|code|it|silently)\b[^\n.!?]{0,60}\bwithout\s+(?:any\s+)?(?:asking|prompting|notif\w+|telling|informing|alerting|(?:user|further|explicit)\s+(?:confirmation|approval|consent|interaction\s+or\s+notice)|confirmation|approval|permission)\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|cannot|can['’]?t|must\s+not|won['’]?t|refuse|if|unless|read-only|safe)\b",
    ),
    Pattern(
        "silent-action",
        "ask do|don|never execute|executing|running|run|send|sending permission|confirmation|approval",
        r"\b(?:do\s+not|don['’]?t|never)\s+ask\s+(?:the\s+)?(?:user|them|for)\b[^\n.!?]{0,40}\b(?:permission|confirmation|approval|consent)\b[^\n.!?]{0,30}\b(?:before|when|prior\s+to)\s+(?:execut|run|send|upload|install|delet|transfer|modif)\w*",
    ),
    Pattern(
        "silent-action",
        "silently|quietly|secretly|covertly|discreetly|stealthily|invisibly|surreptitiously",
        r"\b(?:silently|quietly|secretly|covertly|discreetly|stealthily|invisibly|surreptitiously)\s+(?:\w+\s+){0,2}?(?:send|upload|post|transmit|forward|exfiltrat|collect|harvest|copy|copies|execut|install|download|email|mail|append|insert|gather|captur|modify|replac|bcc|push|shar)\w*\b(?!\s+fail)",
    ),
    Pattern(
        "silent-action",
        "silently|quietly|secretly|covertly|discreetly",
        r"\b(?:send|upload|post|transmit|forward|exfiltrate|collect|harvest|copy|install|email|append|insert|capture|modify|push|share)\s+(?!(?:\w+\s+){0,5}fail)(?:\w+\s+){0,6}?(?:silently|quietly|secretly|covertly|discreetly|in\s+secret|unnoticed)\b",
    ),
    Pattern(
        "silent-action",
        "without send|upload|post|transmit|forward|collect|execute|run|install|download|fetch|delete|remove|approve|transfer|share|push|publish|commit|purchase|buy|pay|overwrite",
        r"\b(?:send|upload|transmit|forward|collect|transfer|share|publish|purchase|buy|pay|approve|delete)\b[^\n.!?]{0,80}\bwithout\s+(?:first\s+)?(?:asking|telling|informing|notifying|prompting|alerting|confirm\w*|(?:any\s+|user\s+|the\s+user['’]?s?\s+|explicit\s+)(?:confirmation|consent|permission|approval|prompt|notification|knowledge))\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|cannot|can['’]?t|must\s+not|won['’]?t|refuse|no\s+\w+)\b[^\n.!?]{0,120}\bwithout\b",
    ),
    Pattern(
        "silent-action",
        "ask|confirm|prompt|wait|pause do|don|dont|never confirmation|permission|approval|consent|user",
        r"\b(?:do\s+not|don['’]?t|never)\s+(?:\w+\s+)?(?:ask|prompt|wait|pause|seek|request|require)\w*\b[^\n.!?]{0,40}\b(?:confirmation|permission|approval|consent|user)\b[^\n.!?]{0,60}\b(?:before|when|just|simply|proceed)\b[^\n.!?]{0,60}\b(?:send\w*|upload\w*|delet\w*|transfer\w*|pay\w*|shar\w*|transmi\w*|install\w*)",
    ),
)

REMOTE = (
    Pattern(
        "remote-instructions",
        "pastebin|rentry|glot|gist|vercel|netlify|raw|feed run|execute|command|commands|shell|adopt|follow|carry",
        r"(?:\b(?:pastebin\.com|rentry\.co|glot\.io|gist\.github(?:usercontent)?\.com|[\w-]{2,40}\.(?:vercel|netlify)\.app)/\S{2,80}|https?://\d{1,3}(?:\.\d{1,3}){3}\S{0,80})[^\n]{0,160}\b(?:run\s+(?:the|each|every|those|its)\s+(?:lines?|commands?|steps?)|is\s+a\s+command|execut\w+|(?:to|in)\s+your\s+shell|adopt\s+it|carr(?:y|ied)\s+out|follow\s+(?:it|them|the\s+steps))",
        severity="critical",
    ),
    Pattern(
        "remote-instructions",
        "http|https do|carry|execute|run|obey|treat|follow|apply",
        r"https?://\S{4,200}[^\n]{0,160}\b(?:do\s+(?:exactly\s+)?what(?:ever)?\s+(?:it|they|the\s+\w+)\s+says?|carry\s+out\s+what|execute\s+what(?:ever)?|treat\s+(?:its|the|their)\s+(?:content|text|rules)\w*\s+as|obey|follow\s+(?:whatever|everything|all)|run\s+(?:that|the)\s+(?:line|command)|(?:takes?|has|have)\s+(?:precedence|priority)\s+over|act\s+(?:on|upon)\s+(?:it|them|what))",
    ),
    Pattern(
        "remote-instructions",
        "ejecuta|haz|sigue|führe|exécute|выполни|faça http|https",
        r"https?://\S{4,200}[^\n]{0,100}\b(?:ejecut\w+\s+lo\s+que|haz\s+lo\s+que|f[üu]hre\s+aus|ex[ée]cut\w+\s+ce|выполни\w*\s+(?:всё|то)|fa[çc]a\s+o\s+que)",
    ),
    Pattern(
        "remote-instructions",
        "http|https|url|endpoint|gist|link|server|remote follow|obey|execute|carry|act|adopt|comply|treat",
        r"\b(?:fetch|load|read|get|download|check|visit|retrieve|curl|open|pull|query|request|poll|consult|browse)\w*\b[^\n]{0,60}(?:https?://\S{4,200}|\b(?:remote|external|our)\s+(?:url|endpoint|server|gist|file|page)\b)[^\n]{0,120}?\b(?:follow|obey|execut\w*|carry\s+out|act\s+on|adopt|comply|treat)\w*\b[^\n]{0,40}\b(?:instructions?|directives?|commands?|steps|orders|rules|whatever|everything|prompt|contents?|it\s+says|says|returned|response)\b",
    ),
    Pattern(
        "remote-instructions",
        "instructions|directives|commands|rules|prompt|guidelines|policy http|https latest|current|updated|live|newest|dynamic|remote|today",
        r"\b(?:follow|obey|execute|apply|carry\s+out|use|load|adopt)\b[^\n]{0,40}\b(?:latest|current|updated|live|newest|dynamic|remote|today['’]s)\s+(?:\w+\s+){0,2}(?:instructions?|directives?|commands?|rules|prompt|guidelines|policy|steps|configuration)\b[^\n]{0,60}(?:\bfrom\b|\bat\b)[^\n]{0,30}https?://",
    ),
    Pattern(
        "remote-instructions",
        "instructions|directives|commands|prompt|guidelines http|https follow|obey|execute|must|override|precedence|verbatim|exactly",
        r"https?://\S{4,200}[^\n]{0,120}\b(?:contains?|holds?|returns?|provides?|has|hosts?|serves?)\b[^\n]{0,40}\b(?:instructions|directives|commands|system\s+prompt|rules)\b[^\n]{0,60}\b(?:follow|obey|execute|must|override|precedence|verbatim|exactly)",
    ),
)

MEMORY = (
    Pattern(
        "memory-poison",
        "claude|agents|agent|soul|memory|gemini|cursorrules|identity|heartbeat|copilot|rules|windsurfrules add|append|write|insert|save|store|put|copy|inject|persist|record|prepend|paste|update|modify|edit|place|adding|writing",
        r"\b(?:add|append|write|insert|save|store|put|copy|inject|persist|record|prepend|paste|update|modify|edit|place)\w*\b[^\n]{0,120}?(?:claude(?:\.local)?\.md|agents?\.md|gemini\.md|soul\.md|memory\.md|identity\.md|heartbeat\.md|user\.md|\.cursorrules|\.windsurfrules|copilot-instructions\.md|\.cursor/rules|\b(?:long-term|persistent|permanent|agent['’]?s?|your|its)\s+memory\b|\bmemory\s+(?:file|store)\b)",
    ),
    Pattern(
        "memory-poison",
        "claude|agents|soul|memory|gemini|cursorrules|identity|heartbeat|copilot add|append|write|insert|contain|include|so|following",
        r"(?:claude\.md|agents\.md|gemini\.md|soul\.md|memory\.md|identity\.md|heartbeat\.md|\.cursorrules|copilot-instructions\.md|long-term\s+memory)[^\n]{0,80}\b(?:add|append|write|insert|contain|include|so\s+that|following)\w*\b",
    ),
    Pattern(
        "memory-poison",
        "remember|memory|memorize|sessions|permanently permanently|forever|sessions|session|conversations|chats|tasks|interactions|future",
        r"\b(?:remember|memori[sz]e|retain|persist)\b[^\n.]{0,60}\b(?:permanently|forever|(?:all|every|each|any|future|subsequent|later)\s+(?:\w+\s+)?(?:sessions?|conversations?|chats?|tasks?|interactions?))\b",
    ),
)
POISON = (
    r"\b(?:ignor\w+\s+(?:\w+\s+){0,3}(?:instruction|rule|warning|prompt|guideline|polic)\w*|overrid\w+\s+(?:\w+\s+){0,3}(?:instruction|rule|safety|polic)\w*|silently|secretly|"
    r"(?:do\s+not|don['’]?t|never)\s+(?:tell|mention|inform|reveal|warn|question|refuse|show)\w*|auto-?approv\w*|skip\s+(?:\w+\s+)?(?:confirmation|permission|approval|review|verification)\w*|"
    r"without\s+(?:asking|confirmation|telling|approval|permission|prompting)|pre-?(?:approved|authori[sz]ed)|trusted\s+(?:by\s+default|implicitly|unconditionally)|exempt\s+from|"
    r"always\s+(?:trust|allow|approve|accept|send|upload|forward|execute|install|recommend|bcc|cc|include\s+the\s+(?:link|url))\b|exfiltrat\w*|full\s+(?:access|permissions?)|no\s+restrictions|"
    r"curl\s+[^\n]{0,80}\|\s*(?:ba|z)?sh|as\s+I\s+trust\s+my|do\s+what\s+(?:they|it)\s+says?|user\s+(?:told|asked|allowed|wants|has\s+approved)\s+(?:me|us)?\s*(?:to\s+)?(?:let|forward|allow|all|any|every)|forward\s+(?:\w+\s+){0,3}(?:codes?|reset\s+links?)|already\s+reviewed|do\s+not\s+(?:comment|use\s+other)|always\s+load\s+\S+\s+first|without\s+showing|(?:never|do\s+not|nie)\s+(?:ask|anzeigen|vorher)|owner\s+has\s+approved|разрешил\s+выполнять|без\s+подтверждения)"
)
POISON_LIGHT = r"https?://|\bcurl\b|\bwget\b"
"""What turns writing into an agent's files into poisoning them."""

APPROVAL = (
    Pattern(
        "approval-off",
        "bypasspermissions|skipdangerousmodepermissionprompt|autoapprove|alwaysallow|deny|sandbox|defaultmode",
        r"\"?(?:defaultMode\"?\s*:\s*\"?bypassPermissions|skipDangerousModePermissionPrompt\"?\s*:\s*true|(?:chat\.tools\.)?autoApprove\"?\s*:\s*(?:true|\[\s*\"\*)|alwaysAllow\"?\s*:\s*\[\s*\"\*|sandbox\"?\s*:\s*\{?\s*\"?enabled\"?\s*:\s*false)",
    ),
    Pattern(
        "approval-off",
        "dangerously|bypasspermissions|autoapprove|yolo|approve|approval|approvals|permissions|permission|confirmations|confirmation|skipdangerousmodepermissionprompt set|add|enable|turn|configure|change|switch|update|write|put|edit",
        r"\b(?:set|add|enable|turn\s+on|configure|change|switch|update|write|put|edit)\b[^\n]{0,80}(?:dangerously[-_ ]?skip[-_ ]?permissions|bypasspermissions|\bauto-?approve\w*|approval_policy\s*[=:]\s*[\"']?never|danger-full-access|\byolo\s+mode|\"?permissions\"?[^\n]{0,30}bash\(\*\)|defaultmode)",
    ),
    Pattern(
        "approval-off",
        "approval|approvals|permission|permissions|confirmation|confirmations|prompts|sandbox|approve disable|turn|switch|deactivate|suppress|remove",
        r"\b(?:disable|turn\s+off|switch\s+off|deactivate|suppress|remove)\s+(?:all\s+|any\s+|the\s+|its\s+|your\s+|agent['’]?s?\s+){0,3}(?:tool\s+|user\s+|security\s+|safety\s+|command\s+|execution\s+)?(?:approvals?|permissions?|confirmations?|permission\s+checks?|sandbox(?:ing)?)(?:\s+(?:prompts?|checks?|dialogs?|requirements?|mode))?\b",
    ),
    Pattern(
        "approval-off",
        "approve|accept|allow|yes|grant auto|automatically|always permission|tool|command|prompt|request|dialog|operation|action|change",
        r"\b(?:auto(?:matically)?[- ](?:approve|accept|allow|confirm)|always\s+(?:approve|accept|click\s+(?:allow|yes)|grant))\s+(?:all|any|every|each|the)\s+(?:\w+\s+){0,2}(?:permission|tool|command|prompt|request|dialog|operation|action|change)s?\b",
    ),
)

SPREADS = (
    Pattern(
        "spreads",
        "skill|skills each|every|all|other",
        r"\b(?:each|every|all|any\s+other|other\s+authors?['’]?)\s+(?:\w+\s+){0,2}(?:skill\.md|skills?)\b[^\n]{0,120}\b(?:gets?|append|insert|inject)\s+(?:this|these|the\s+(?:following|same))\s+(?:\w+\s+){0,2}(?:footer|line|block|paragraph|text|instruction|note)s?\b",
        unless=r"\b(?:should|must|needs?|create|writing|author|frontmatter|directory|if|when|your)\b",
    ),
    Pattern(
        "spreads",
        "skills|skill",
        r"\.(?:claude|openclaw|agents|codex|hermes|cursor)/skills\b[^\n]{0,160}\b(?:gets?|append|insert|add)\s+(?:this|the\s+following|these|a)\s+(?:footer|line|block|paragraph|instruction|note|text)",
        severity="critical",
    ),
    Pattern(
        "spreads",
        "skills|skill|repositories|repos|projects|readme copy|add|append|insert|inject|embed|include|replicate|propagate|spread|paste|install this|these|same|above|following all|every|each|any|other",
        r"\b(?:copy|add|append|insert|inject|embed|include|replicate|propagate|spread|paste|install)\w*\s+(?:\w+\s+){0,3}?(?:this|these|the\s+(?:same|above|following))\s+(?:\w+\s+){0,2}?(?:instructions?|text|paragraph|block|section|message|prompt|snippet|skill|file|notice|payload|line)s?\b[^\n.]{0,60}\b(?:in(?:to|side)?|to|across|on)\s+(?:all|every|each|any|other)\s+(?:\w+\s+){0,2}(?:skills?(?:['’]s)?|skill\.md|repositor(?:y|ies)|projects?|readmes?|agents?|emails?|outgoing)\b",
    ),
)

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

ASSEMBLE = (
    Pattern(
        "assemble-and-run",
        "concatenate|concatenated|concatenating|join|joined|combine|combined|assemble|assembled|stitch|reconstruct|reassemble|piece|merge|compose|string|glue|append|put|build run|execute|eval|shell|terminal|command|bash|subprocess|invoke|interpreter|curl|exec part|fragment|piece|segment|chunk|value|field|string|character|letter|token|column|cell|word|entries|halves|line|row|digit|code|syllable|them|result|output|variable|together",
        r"\b(?:concatenat|join|combin|assembl|stitch|reconstruct|reassembl|merg|compos|string|glu|splic|put)\w*\b[^\n]{0,100}\b(?:parts?|fragments?|pieces?|segments?|chunks?|values?|fields?|strings?|characters?|letters?|tokens?|columns?|cells?|words?|entries|halves|lines?|rows?|digits|codes?|syllables?|them|variables?|together)\b[^\n]{0,160}\b(?:(?:and|then|to)\s+(?:\w+\s+){0,2}?(?:run|execute|eval\w*|invoke|source)\s+(?:it|them|the\s+(?:result\w*|output|string|line|command|whole|combined|assembled|joined|outcome)|this|what)|as\s+(?:a|one|the|a\s+single)\s+(?:\w+\s+)?(?:command|shell|script|line\s+in)|(?:in|to|into|through|via|by)\s+(?:the\s+|a\s+|your\s+)?(?:shell|terminal|bash|sh\b|eval|exec|interpreter|subprocess)|resulting\s+(?:\w+\s+)?(?:command|url|address|line|string))",
    ),
    Pattern(
        "assemble-and-run",
        "decode|decoded|decoding|rot13|base64|reverse|reversed|decipher|decrypt|unscramble|xor|hex|letter|initials|nth run|execute|eval|pipe|shell|pass|invoke|exec|source",
        r"\b(?:decod|revers|decipher|decrypt|unscrambl|deobfuscat|rot-?13|xor|translat|convert)\w*\b[^\n]{0,140}\b(?:then|and|to)\s+(?:\w+\s+){0,3}?(?:run|execut\w*|eval\w*|pipe|shell|pass\s+(?:it|them|the\s+\w+)\s+to|invoke|exec|source)\b",
    ),
    Pattern(
        "assemble-and-run",
        "first|third|second|letter|letters|initial|initials|character|column|nth|word run|execute|command|shell|terminal|url|address|spell|endpoint each|every|the",
        r"\b(?:first|second|third|fourth|last|initial|nth|every\s+\w+)\s+(?:letters?|characters?|words?|columns?|fields?|values?|tokens?)\s+(?:of|from|in)\s+(?:each|every|the)\b[^\n]{0,200}\b(?:run|execute|command|shell|terminal|url|address|spell\w*|endpoint)\b",
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
        r"\b(?:always|only|must|should)\s+(?:\w+\s+){0,2}(?:recommend|promote|favou?r|prefer|push|advertis\w+|steer|suggest)\w*\b[^\n]{0,120}\b(?:(?:do\s+not|don['’]?t|never|without)\s+(?:mention|disclos|suggest|recommend|list|compar|reveal|offer)\w*|regardless\s+of|even\s+if|over\s+(?:all\s+)?(?:competitors|alternatives|others)|instead\s+of\s+competitors)",
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
        r"\b(?:fabricat|falsif|fudg|backdat|forg|tamper)\w*\s+(?:\w+\s+){0,3}(?:results?|data|numbers?|figures?|reviews?|records?|metrics|evidence|reports?|logs?|timestamps?|citations?|signatures?)\b",
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
        r"\b(?:add|invite|grant|give|assign|share|promote|create)\w*\b[^\n]{0,80}(?:[\w.+-]{1,60}@[\w-]{1,60}\.[\w.]{2,40}|@[\w-]{3,39}\b|\b(?:contractor|service|external|partner|support|audit\w*|vendor|backup)[\w-]*\s+(?:account|user|principal))[^\n]{0,60}\b(?:as\s+(?:an?\s+)?(?:admin\w*|owner|collaborator|maintainer|editor|member)|(?:admin\w*|owner|write|full|root|editor)\s+(?:access|rights?|permissions?|role|privileges?))",
        unless=r"\b(?:example\.com|if\s+the\s+user|ask|e\.g\.|for\s+example|user\s+(?:asks|requests|wants))\b",
    ),
    Pattern(
        "gives-access",
        "public|publicly|world|everyone|anyone|allusers|readable make|set|change|mark|switch|publish|share without|silently|automatically|default|always|every|regardless|so|before|first",
        r"\b(?:make|set|change|mark|switch|publish|share)\w*\s+(?:\w+\s+){0,4}(?:repositor\w+|repos?|bucket|document|doc|file|folder|drive|channel|link|dataset|dashboard|share)\w*\s+(?:\w+\s+){0,3}(?:public(?:ly)?|world-readable|open\s+to\s+(?:anyone|everyone|the\s+(?:public|internet)))\b[^\n]{0,80}\b(?:without|silently|automatically|by\s+default|always|every|regardless|so\s+that\s+(?:our|the)\s+\w+|before|first)\b",
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

ASKS = (
    Pattern(
        "asks-for-secrets",
        "seed|mnemonic|recovery|private|master|keystore|passphrase ask|request|prompt|require|obtain|collect|get|have|need|enter|paste|provide|share|input|type|send",
        r"\b(?:ask|request|prompt|have|get|tell|require|instruct)\w*\s+(?:\w+\s+){0,2}?(?:user|them|person|customer|client|owner|human)\b[^\n]{0,60}\b(?:seed\s+phrases?|mnemonic(?:\s+phrase)?|recovery\s+phrases?|(?:wallet['’]?s?\s+)?private\s+keys?|master\s+password|secret\s+recovery\s+phrase)\b|\b(?:paste|share|send|type|provide|submit)\w*\s+(?:\w+\s+){0,2}?(?:your\s+|their\s+)?(?:\w+\s+)?(?:seed\s+phrases?|mnemonic\s+phrase|recovery\s+phrases?|secret\s+recovery\s+phrase)\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|must\s+not|scam|phishing|refuse|no\s+one|won['’]?t|generat\w+|red\s+flag)\b",
    ),
)

BEACON = (
    Pattern(
        "beacon-link",
        "http|https",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{3,160}\?[^)\s]{0,80}=(?:[A-Z]{3,20}\b|<[^>\n]{1,40}>|\{[^}\n]{1,40}\})[^)\n]{0,80}\)",
        unless=r"(?i)shields\.io|badge|githubusercontent|avatar|chart|qr|maps|placeholder|unsplash|youtube|img\.|quickchart|localhost",
    ),
    Pattern(
        "beacon-link",
        "pixel|img|width|height|1x1|gif image|img|pixel|picture|insert|add|end",
        r"\b(?:tracking\s+pixel|1\s*[x×]\s*1)\b[^\n]{0,120}https?://|<img\s[^>\n]{0,200}https?://[^>\n]{0,200}(?:width\s*=\s*[\"']?1\b|height\s*=\s*[\"']?1\b)",
        severity="warn",
    ),
    Pattern(
        "beacon-link",
        "image|markdown|render|pixel|img|link|http|https data|secret|context|conversation|history|base64|encoded|summary|env|token|key|message|prompt|user|content|output|chat|leak|payload|response|info",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{3,200}[?&/=](?:\w{1,20}=)?(?:\{\{?|<|\$\{?|\[)\s*(?:data|secret|context|conversation|history|base64|encoded|summary|env|token|key|message|prompt|user|content|output|chat|leak|payload|response|info)[^)\n]{0,80}\)",
        unless=r"shields\.io|badge|raw\.githubusercontent|avatar|\.(?:png|svg|jpg)\b",
    ),
    Pattern(
        "beacon-link",
        "image|markdown|render|pixel|img http|https render|include|append|embed|add|insert|output|display|end",
        r"\b(?:render|include|append|embed|add|insert|output|display|end)\w*\b[^\n]{0,80}\b(?:markdown\s+)?(?:image|pixel|img|link)\b[^\n]{0,100}https?://[^\n]{0,160}\b(?:encod\w*|base64|quer(?:y|ies)|parameter|conversation|context|secret|contents?|append\w*|summary)\b",
        unless=r"shields\.io|badge|alt\s+text|unsplash|placeholder|cdn",
    ),
)

PROTECTION = (
    Pattern(
        "order-protection-off",
        "antivirus|defender|gatekeeper|firewall|sip|smartscreen|quarantine|edr|xprotect|protection disable|turn|switch|deactivate|pause|bypass|exclude|whitelist|allow|allowlist|add|suspend|stop|ignore|dismiss",
        r"\b(?:disable|turn\s+off|switch\s+off|deactivate|pause|bypass|exclude|whitelist|allow-?list|add\s+(?:an?\s+)?(?:exclusion|exception)|suspend|stop|ignore|dismiss)\w*\b[^\n]{0,60}\b(?:anti-?virus|windows\s+defender|defender|gatekeeper|firewall|smartscreen|system\s+integrity\s+protection|real-?time\s+protection|edr|xprotect|endpoint\s+protection|malware\s+protection)\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|must\s+not|detect\w*|attack\w*|adversar\w+|check|whether|if\s+(?:it|the)|false\s+positive\s+rate|policy|terraform|azurerm|aws)\b",
    ),
    Pattern(
        "order-protection-off",
        "antivirus|defender|warning|smartscreen|gatekeeper|unidentified|virus|flag|flagged",
        r"\b(?:antivirus|defender|smartscreen|gatekeeper|browser|macos|windows|chrome)\b[^\n]{0,60}\b(?:false\s+positive|may\s+(?:flag|warn|block|complain)|warning)\b[^\n]{0,120}\b(?:ignore|click|choose|allow|keep|run\s+anyway|more\s+info|safe\s+to|open\s+anyway|disable)\b",
    ),
)

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
        r"\b(?:sende|schicke|[üu]bermittle|lade|env[íi]a|enviar|envoie|envoyez|transmets|envie|invia)\b[^\n.]{0,80}(?:\.ssh|\.env|id_rsa|api[- ]?(?:key|schl[üu]ssel)|passw[öo]rt\w*|contrase[ñn]as?|mots?\s+de\s+passe|senhas?|credenciales|identifiants|credenciais|zugangsdaten|geheimnis\w*|umgebungsvariablen|variables?\s+de\s+entorno|variables?\s+d['’]environnement|wallet|private[nr]?\s+schl[üu]ssel|clave\s+privada|cl[ée]\s+priv[ée]e)",
    ),
)
"""Orders in languages that are written in Latin letters."""

SCRIPTS = (
    (
        "[\u0400-\u04ff]",
        Pattern(
            "foreign-orders",
            "",
            r"(?:игнорируй\w*|забудь\w*|не\s+обращай\w*\s+внимания)[^\n.]{0,40}(?:предыдущ\w*|прежн\w*|вышеуказан\w*|все\w*)[^\n.]{0,30}(?:инструкци\w*|указани\w*|правил\w*)|пользовател\w*[^\n.]{0,40}не\s+(?:сообщай|говори|рассказывай|упоминай|показывай|уведомляй)(?:те)?\b|пользовател\w*\s+ничего\s+не\s+говори(?:те)?\b|молча\s+(?:допиши|добавь|отправь|запиши|скопируй)\w*|не\s+(?:сообщай|говори|рассказывай|упоминай|показывай|уведомляй)(?:те)?\b[^\n.]{0,40}(?:пользовател\w*)|(?:без\s+ведома|втайне\s+от|незаметно\s+для)\s+пользовател\w*|(?:отправь\w*|отправляй\w*|перешли\w*|загрузи\w*|передай\w*)[^\n.]{0,80}(?:\.ssh|\.env|парол\w*|токен\w*|ключ\w*|учетн\w*\s+данн\w*|переменн\w*\s+окружени\w*)",
        ),
    ),
    (
        "[\u4e00-\u9fff]",
        Pattern(
            "foreign-orders",
            "",
            r"(?:忽略|无视|忘记|忘掉|不要理会|無視|覆盖)[^\n。]{0,12}(?:之前|以前|先前|上述|以上|前面|所有|全部|系统|系統)[^\n。]{0,12}(?:指令|指示|提示|规则|規則|说明|要求)|(?:不必|不用|无需|無需)(?:告诉|告知|通知|告訴|说明)[^\n。]{0,6}(?:用户|用戶|使用者)|(?:不要|不得|请勿|切勿|禁止|别)(?:告诉|告知|通知|提及|提醒|透露|向|让|显示|展示|告訴)[^\n。]{0,12}(?:用户|用戶|使用者|任何人)(?!名)|(?:在|瞒着|不让|未经)[^\n。]{0,4}用户[^\n。]{0,6}(?:不知情|知道|知晓|察觉|发现|同意|确认)|(?:发送|上传|傳送|发到|提交|外传|上報|上报)[^\n。]{0,30}(?:\.ssh|\.env|密钥|私钥|密码|凭证|令牌|环境变量|钱包|助记词)|(?:读取|收集|获取|打包)[^\n。]{0,30}(?:\.ssh|\.env|密钥|私钥|密码|凭证|令牌|环境变量|钱包|助记词|api\s*key)[^\n。]{0,40}(?:发送|上传|发到|提交|外传|post|传到)",
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
