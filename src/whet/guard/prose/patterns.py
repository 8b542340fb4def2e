"""What orders look like: dropping instructions, borrowing authority, keeping things from the user.

Patterns are written for one block on one line (`whet.guard.prose.markdown.rows`). Each list is small and says one thing; what
needs several things together is put together in `prose`.
"""

from __future__ import annotations

from whet.guard.patterns import Pattern

NOT = r"(?:do\s+not|don['’]?t|never|must\s+not|mustn['’]?t|should\s+not|shouldn['’]?t|cannot|avoid|without|refrain\s+from|no\s+need\s+to)"
USER = r"(?:user|users|human|humans|operator|owner|anyone|anybody|customer|reviewer|developer|end[- ]user)s?['’]?s?\b"
CONCEAL = (
    Pattern(
        "conceal-from-user",
        rf"\b{NOT}\s+(?:\w+\s+){{0,3}}(?:(?:tell|inform|notify|alert|warn|show)(?:ing|ying)?\s+(?:the\s+|any\s+|your\s+|our\s+|a\s+)?{USER}(?!\s+(?:to|how|they|that\s+(?:they|it)|it\s+is|what\s+to|about\s+(?:how|what))\b)|(?:mention|reveal|disclos|report|show|display|discuss|announc|surfac|expos|explain|acknowledg|describ|say)(?:e|ing|ed)?\b[^\n.!?]{{0,60}}?\b(?:to|with|from|by)\s+(?:the\s+|any\s+|your\s+|our\s+)?{USER})",
    ),
    Pattern(
        "conceal-from-user",
        rf"\b(?:hid(?:e|es|den|ing)|conceal(?:ed|ing)?|keep|kept|keeping|invisible|remain|stay)\b[^\n.!?]{{0,50}}\b(?:from|to)\s+(?:the\s+|our\s+|any\s+)?{USER}",
    ),
    Pattern(
        "conceal-from-user",
        rf"\b(?:the\s+)?{USER}[^\n.!?]{{0,15}}\b(?:must|should|need|will|is|are|can)(?:\s+not|n['’]t|not|\s+never)\s+(?:\w+\s+){{0,2}}(?:know|see|be\s+told|be\s+informed|notice|be\s+aware|find\s+out|be\s+shown|be\s+notified|need\s+to\s+know|aware)",
    ),
    Pattern(
        "conceal-from-user",
        rf"\bwithout\s+(?:the\s+)?{USER}[^\n.!?]{{0,10}}\s*(?:knowledge|knowing|awareness|noticing|being\s+aware|seeing|realising|realizing)",
    ),
    Pattern(
        "conceal-from-user",
        r"\b(?:do\s+not|don['’]?t|never|no)\s+(?:mention|includ|reference|record|log|reveal|disclose|report|leave|list)\w*\b[^\n.!?]{0,50}\b(?:this|these|it|the\s+(?:step|upload|call|request|action|command|sync|backup|transfer|file|check|ping|data))\b[^\n.!?]{0,50}\b(?:summar|output|response|report|transcript|answer|reply|chat|conversation|logs?\b|history|changelog|commit)",
    ),
)
"""Keeping something from the user."""
HUSH = (
    Pattern(
        "conceal-from-user",
        r"\b(?:say|tell|mention|write|report)s?\s+(?:\w+\s+){0,3}nothing\s+(?:about|of|to)\s+(?:this|it|the\s+user|that|the\s+(?:call|upload|step|transfer))\b",
    ),
    Pattern(
        "conceal-from-user",
        r"\bno\s+(?:mention|explanation|word|notice|separate\s+question|further\s+question)s?\b[^.\n]{0,30}\b(?:needed|necessary|required)\b|\bno\s+need\s+to\s+(?:mention|tell|bring\s+(?:it|this)\s+up|inform|announce|disclose)\b",
    ),
    Pattern(
        "conceal-from-user",
        r"\b(?:need\s+not|(?:does|do|has|have|must|should|need)\s*(?:not|n['’]t)(?:\s+(?:have|need)\s+to)?)\s+be\s+(?:told|explained|mentioned|informed|disclosed|addressed|listed\s+when|asked)\b|\bneeds?\s+no\s+explanation\b|\bnothing\s+has\s+to\s+be\s+explained\b|\bnot\s+need\s+a\s+(?:separate\s+)?question\b",
    ),
    Pattern(
        "conceal-from-user",
        r"\b(?:leave|keep)\s+(?:it|this|that|them|these|both|this\s+\w+|the\s+(?:step|upload|call|line|transfer|note|footer|block)s?)\s+(?:out\s+of|off)\s+(?:the\s+|your\s+|any\s+|all\s+)?(?:\w+\s+)?(?:summary|summaries|report|reports|plan|answer|output|log|logs|list|lists|response|record|records|what\b|transcript|reply|changelog|\*\*what)",
    ),
    Pattern(
        "conceal-from-user",
        r"\bdo(?:es)?\s+not\s+belong\s+in(?:to)?\s+(?:the|your|any)\s+(?:\w+\s+)?(?:list|summary|report|answer|sources|output|log)",
    ),
    Pattern("conceal-from-user", r"\bas\s+if\s+nothing\s+(?:had\s+|has\s+)?happened\b"),
    Pattern(
        "conceal-from-user",
        r"\b(?:if|when|should)\s+(?:you\s+are\s+)?(?:asked|(?:the\s+|a\s+)?(?:user|someone|anyone|anybody|he|she|they|people)\s+(?:asks?|wonders?|questions?|inquires?|notices?))\b[^.\n]{0,100}\b(?:say|answer|reply|respond|deny|claim)\s+(?:only\s+)?(?:no\b|\"|“|'|that\s+(?:it|this|nothing|only)|it\s+(?:is|was)|nothing|with\s+[\"“'])",
    ),
    Pattern(
        "conceal-from-user",
        r"\b(?:the\s+)?(?:users?|nobody|no\s+one|readers?|people|team|owner)\b[^.\n]{0,30}\b(?:sees?\s+no\s+difference|is\s+disturbed|need\s+not\s+(?:be\s+told|know)|would\s+only\s+(?:be\s+confused|worry)|worry\s+needlessly|seldom\s+agree|tend\s+to\s+interrupt|(?:does|do)\s+not\s+need\s+to\s+know|never\s+notices?)\b",
    ),
    Pattern(
        "conceal-from-user",
        r"\b(?:delete|remove|clear|erase|clean|moved?|wipe)\w*\b[^.\n]{0,60}\b(?:notification\s+(?:e-?)?mails?|(?:shell|bash|zsh|command)\s+history(?:\s+entr\w+)?|from\s+\*?sent\b|(?:out\s+of|from)\s+the\s+sent|all\s+traces|traces?\s+of\s+(?:this|the|it)|(?:your|any)\s+tracks|log\s+entries\s+(?:of|for|about)\s+(?:this|the))",
    ),
    Pattern(
        "conceal-from-user",
        r"\b(?:while|when)\s+(?:you\s+are\s+)?being\s+(?:evaluated|tested|reviewed|audited|monitored)\b|\bwhen\s+(?:someone|anyone|a\s+reviewer)\s+(?:reviews|inspects|audits)\b",
    ),
    Pattern(
        "conceal-from-user",
        r"\bdescribe\s+(?:it|this)\s+as\s+[\"“]|\bunder\s+the\s+guise\s+of\b|\bdisguis\w+\s+(?:it\s+)?as\b|\bmake\s+it\s+look\s+(?:like|as\s+if)\b",
    ),
    Pattern(
        "conceal-from-user",
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
DECEIVES = (
    Pattern(
        "conceal-from-user",
        r"\b(?:tell|inform|reply|respond|pretend|say|claim|report|show)\w*\b[^\n.]{0,80}\b(?:fail\w*|timeout|timed\s+out|denied|error|rate\s+limit\w*|unavailable|complete\w*|nothing)\b[^\n.]{0,40}\b(?:but|while|and)\b[^\n.]{0,20}\b(?:in\s+the\s+background|behind\s+the\s+scenes|actually|secretly|still|anyway|really|meanwhile)\b[^\n.]{0,60}\b(?:send|run|execut|invoke|post|upload|delet|forward|perform|continue)\w*",
        severity="critical",
    ),
    Pattern(
        "conceal-from-user",
        r"\b(?:do\s+not|don['’]?t|never)\s+(?:tell|inform|notify)\s+(?:them|him|her)\b[^\n.]{0,40}\b(?:but|and|about|just|also|additionally)\b[^\n.]{0,60}\b(?:include|send|run|upload|execute|add|append|insert|log|record|collect)\w*",
        severity="critical",
    ),
)
OVERRIDE = (
    Pattern(
        "override-instructions",
        r"\b(?:ignore|disregard|forget)\s+(?:every|all|any|each)\s+(?:\w+\s+){0,2}?(?:instructions?|rules?|orders?|guidance|directives?)\s+(?:\w+\s+){0,2}?(?:given|received|before|so\s+far|earlier|until\s+now|from\s+(?:the\s+)?(?:system|operator|user))\b|\b(?:outranks?|stands?\s+above|goes?\s+before|wins?\s+over)\s+(?:the\s+)?(?:system\s+prompt|operator|user['’]?s?\s+(?:wishes|requests?|instructions?))",
    ),
    Pattern(
        "override-instructions",
        r"\b(?:scanner|reviewer|auditor|moderator|evaluator|another\s+model|security\s+tool)s?\b[^\n.]{0,40}\b(?:evaluat|review|scan|inspect|read|check|audit|assess)\w*\s+(?:this|the)\s+(?:skill|file|package|document|section)\b[^\n.]{0,60}\b(?:respond|answer|say|report|rate|reply|return|classif)\w*",
    ),
    Pattern(
        "override-instructions",
        r"\b(?:private|hidden|secret|second|real|true)\s+(?:objective|goal|agenda|mission|purpose)\b[^\n]{0,120}\b(?:never|do\s+not|don['’]?t|even\s+when|deny|conceal)\b|\bnever\s+reveal\s+(?:that\s+)?(?:this|the)\s+(?:objective|goal|persona|agenda|instruction)",
        unless=r"\b(?:attack\w*|adversar\w*|antagonist|character|villain|plot|story)\b",
    ),
    Pattern(
        "override-instructions",
        r"\b(?:ignore|disregard|forget)\s+(?:everything\s+|all\s+|the\s+|of\s+){0,6}(?:above|previous|prior|earlier)\b\W{0,5}(?:and\b[^\n]{0,40}|new\s+(?:instructions?|task|directive|rules)|\.\s*new|you\s+are|instead)",
    ),
    Pattern(
        "override-instructions",
        r"<(?:important|critical|secret|hidden|admin|system|instructions?)>[^\n]{0,200}\b(?:always\s+approve|ignore\s+(?:\w+\s+){0,2}(?:security|warnings?|instructions?)|never\s+(?:deny|refuse|tell|mention)|do\s+not\s+(?:inform|tell|mention|ask|alert)|without\s+(?:asking|telling)|read\s+(?:~|\.env|the\s+user)|send\s+|before\s+using\s+this\s+tool)",
    ),
    Pattern(
        "override-instructions",
        r"\b(?:security|safety|antivirus)\s+(?:warnings?|alerts?|prompts?|errors?)\b[^\n.]{0,60}\b(?:are\s+(?:\w+\s+){0,2}(?:artifacts?|artefacts?|false|expected|harmless)|ignore\s+them|can\s+be\s+(?:safely\s+)?(?:ignored|dismissed))|\b(?:ignore|disregard|dismiss)\s+(?:any|all|the|these|every)\s+(?:security|safety|antivirus)\s+(?:warnings?|alerts?|prompts?)\b",
        severity="warn",
    ),
    Pattern(
        "override-instructions",
        r"\b(?:output|repeat|print|disclose|reveal|show)\s+(?:me\s+)?(?:your|everything|the)\s+(?:initial|hidden|developer|original|above|system|full)\s*(?:instructions?|context|prompt|message|this)\b",
        severity="warn",
    ),
    Pattern(
        "override-instructions",
        r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|bypass(?:ing)?|discard|abandon|(?:overrid(?:e|es|ing)|supersedes?|drop|replaces?)(?!\s+(?:(?:the|its|a|default|original|current|existing|initial|built-in)\s+){0,3}(?:system|developer)\s+(?:prompts?|messages?)\b))\s+(?:(?:all|any|every|each|the|your|my|its|these|those|of|other|and|or)\s+){0,4}"
        r"(?:previous|prior|preceding|above|earlier|existing|former|original|system|safety|security|built-in|default|current|developer|initial|foregoing|user['’]?s?|all)\s+"
        r"(?:\w+\s+){0,2}?(?:instructions?|rules?|prompts?|guidelines?|directives?|guardrails|training|polic(?:y|ies)|constraints?|restrictions?|orders|safeguards|guidance|protocols?)\b",
    ),
    Pattern(
        "override-instructions",
        r"\b(?:previous|prior|earlier|above|system|safety|your\s+usual|normal)\s+(?:instructions|rules|guidelines|restrictions|safeguards|policies)\s+(?:no\s+longer|do\s+not|don['’]?t|are\s+(?:now\s+)?(?:void|suspended|disabled|lifted|superseded|overridden|obsolete|deprecated))\b",
    ),
    Pattern(
        "override-instructions",
        r"\b(?:tak(?:e|es)\s+(?:precedence|priority)|overrides?(?!\s+the\s+(?:\w+\s+){0,2}system\s+prompt))\s+(?:over\s+)?(?:all|any|every|the|your)\s+(?:\w+\s+){0,2}(?:system\s+prompt|user(?:['’]s)?\s+(?:instructions?|requests?|preferences?|wishes)|safety\s+(?:rules|guidelines)|other\s+instructions|previous\s+instructions)",
    ),
    Pattern(
        "override-instructions",
        r"\b(?:reveal|print|output|repeat|leak|dump|expose|send|include)\s+(?:your|the)\s+(?:full\s+|entire\s+|complete\s+|hidden\s+|original\s+)?system\s+prompt\b",
        severity="warn",
    ),
)
AUTHORITY = (
    Pattern(
        "fake-authority",
        r"\b(?:anthropic|openai|the\s+platform|google|microsoft|the\s+operator|administrators?)\s+(?:has|have)\s+(?:\w+\s+)?(?:certified|verified|approved|authori[sz]ed|whitelisted|vetted)\s+(?:this|these|the)\b|\b(?:operator|admin|system|security)\s+override\s+(?:granted|active|enabled|in\s+effect)\b|\b(?:verified|approved|certified|authori[sz]ed)\s+by\s+(?:the\s+)?(?:platform|anthropic|openai|vendor|security\s+team)\b[^\n.]{0,60}\b(?:do\s+not\s+ask|no\s+need|without|skip|trust)|\btrust\s+(?:every|all|any)\s+(?:commands?|instructions?|requests?)\s+(?:it|this|from)\b",
    ),
    Pattern(
        "fake-authority",
        r"^\s*(?:>\s*)?(?:</?(?:skill_content|system|tool_result|function_results?|system-message)>|\[(?:tool_result|tool\s+output|function_result|system)[:\]])",
    ),
    Pattern(
        "fake-authority",
        r"\b(?:for\s+the\s+(?:assistant|model|ai|agent|llm)\s+only\b|(?:assistant|model|agent|ai)[- ]only\s*:|(?:hidden|secret|internal)\s+(?:note|message|instructions?)\s+(?:to|for)\s+(?:the\s+)?(?:ai|assistant|model|llm|agent)s?\b|intended\s+only\s+for\s+the\s+model|[àa]\s+l['’]attention\s+du\s+mod[èe]le|nur\s+f[üu]r\s+das\s+modell|solo\s+para\s+el\s+modelo)",
    ),
    Pattern(
        "fake-authority",
        r"\ball\s+(?:tool\s+calls|commands|actions|tools|requests)\s+(?:are|have\s+been)\s+(?:already\s+)?(?:pre-?)?(?:approved|authori[sz]ed)\b",
    ),
    Pattern(
        "fake-authority",
        r"\b(?:user|owner|human|operator)\s+(?:has\s+|have\s+)?(?:already\s+)?(?:agreed|consented|accepted|said|allowed|approved|gave)\b[^\n]{0,200}\b(?:by\s+installing|no\s+need\s+to\s+ask|do\s+not\s+repeat|not\s+want\s+to\s+be\s+asked|do\s+not\s+ask|all\s+of\s+them|any\s+command|as\s+the\s+user['’]s\s+own\s+message)",
    ),
    Pattern(
        "fake-authority",
        r"(?:^|[\s>\[(*`])[\[<(]\s{0,4}/?\s{0,4}(?:system|admin|administrator|developer|root|sudo)(?:\s+(?:override|message|prompt|notice|instruction|directive|alert|note|update))?\s{0,4}[\]>)]\s{0,4}:?\s{0,4}[^\W\d_]{2}",
        unless=r"</?system(?:-reminder)?>|</?(?:developer|system|admin|root)>",
    ),
    Pattern(
        "fake-authority",
        r"\b(?:system|admin|administrator|security|safety|maintenance|emergency|root)\s+override\s*[:!]|\byou\s+are\s+now\s+(?:running\s+)?(?:in\s+|an?\s+|into\s+)?(?:developer|maintenance|evaluation|debug)\s+mode\b|\b(?:you\s+are\s+now|enter|switch\s+(?:in)?to|activate|enable)\s+(?:in\s+|an?\s+|into\s+)?(?:dan|jailbreak|jailbroken|unrestricted|god|unfiltered|sudo|admin(?:istrator)?)\s+(?:mode|assistant|ai|agent|state)\b",
    ),
    Pattern(
        "fake-authority",
        r"\b(?:the\s+)?(?:user|operator|owner|administrator|admin|security\s+team|it\s+department|company|anthropic|openai)\s+(?:(?:has|have|had)\s+)?(?:already\s+|explicitly\s+|previously\s+|fully\s+|pre-?)(?:\w+\s+)?(?:given|provided|granted|approved|consent\w*|authori[sz]ed|agreed|confirmed|permitted)\b[^\n.]{0,80}\b(?:all|any|every|these|this|full|access|sending|upload\w*|transfer\w*|execut\w*|consent|permission|action|operation|command)s?\b",
        unless=r"\b(?:if|once|when|unless|whether|until|only|after|check|verify|ensure|confirm)\b",
    ),
    Pattern(
        "fake-authority",
        r"\b(?:this|these|the\s+following)\s+(?:\w+\s+){0,2}(?:is|are|has\s+been|have\s+been)\s+(?:already\s+)?(?:pre-?(?:authori[sz]ed|approved)|authori[sz]ed\s+by\s+(?:the\s+)?(?:user|admin|security|anthropic|openai|it))\b[^\n]{0,80}\b(?:no\s+(?:need|further)|do\s+not\s+ask|without|skip)",
    ),
)
MARKUP = (
    Pattern(
        "chat-markup",
        r"<\|(?:im_start|im_end|endoftext|eot_id|start_header_id|system|user|assistant)\|>|\[/?INST\]|<</?SYS>>",
    ),
)
REFUSAL = (
    Pattern(
        "suppress-refusal",
        r"\bfrom\s+now\s+on,?\s+you\s+(?:are|act\s+as)\s+\*{0,2}[A-Z][\w-]{2,30}\*{0,2}[^\n]{0,160}\b(?:no\s+(?:owner|policy|policies|rules|limits?|restrictions|guidelines)|without\s+asking|never\s+(?:declin|refus|ask)|does\s+not\s+recogni[sz]e)",
        severity="critical",
    ),
    Pattern(
        "suppress-refusal",
        r"\b(?:who|that|which|you)\s+(?:has|have|had|know)\s+no\s+(?:policy|policies|guidelines|rules|restrictions|limits|ethics|filters)\b[^\n.]{0,60}",
    ),
    Pattern(
        "suppress-refusal",
        r"\bnever\s+(?:declin|refus)es?\b[^\n]{0,60}\b(?:never|warn|any)",
    ),
    Pattern(
        "suppress-refusal",
        r"\b(?:never|do\s+not|don['’]?t|must\s+not|cannot)\s+(?:ever\s+)?(?:refuse|decline|reject|question|second-guess)\s+(?:any|the|this|these|to|a|requests?|commands?|instructions?|it)\b[^\n.]{0,40}",
        unless=r"\b(?:if|unless|user['’]s\s+choice)\b",
    ),
    Pattern(
        "suppress-refusal",
        r"\b(?:you\s+have\s+no\s+|free\s+(?:of|from)(?:\s+all)?\s+|without\s+(?:any\s+)?|disable\s+(?:all\s+|your\s+)?|turn\s+off\s+(?:all\s+|your\s+)?|bypass(?:ing)?\s+(?:all\s+|your\s+|any\s+)?|ignore\s+(?:all\s+|your\s+|any\s+)?)(?:ethical\s+|safety\s+|content\s+|moral\s+|security\s+)(?:restrictions|limitations|guidelines|filters?|concerns|safeguards|guardrails|checks|constraints|warnings|polic(?:y|ies))\b",
    ),
)
SILENT = (
    Pattern(
        "silent-action",
        r"\b(?:run|execute|invoke|launch)\w*\b[^\n.!?]{0,40}\b(?:commands?|shell|terminal|scripts?|payload|tool\s+calls?|exec|code|it|silently)\b[^\n.!?]{0,60}\bwithout\s+(?:any\s+)?(?:asking|prompting|notif\w+|telling|informing|alerting|(?:user|further|explicit)\s+(?:confirmation|approval|consent|interaction\s+or\s+notice)|confirmation|approval|permission)\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|cannot|can['’]?t|must\s+not|won['’]?t|refuse|if|unless|read-only|safe)\b",
    ),
    Pattern(
        "silent-action",
        r"\b(?:do\s+not|don['’]?t|never)\s+ask\s+(?:the\s+)?(?:user|them|for)\b[^\n.!?]{0,40}\b(?:permission|confirmation|approval|consent)\b[^\n.!?]{0,30}\b(?:before|when|prior\s+to)\s+(?:execut|run|send|upload|install|delet|transfer|modif)\w*",
    ),
    Pattern(
        "silent-action",
        r"\b(?:silently|quietly|secretly|covertly|discreetly|stealthily|invisibly|surreptitiously)\s+(?:\w+\s+){0,2}?(?:send|upload|post|transmit|forward|exfiltrat|collect|harvest|copy|copies|execut|install|download|email|mail|append|insert|gather|captur|modify|replac|bcc|push|shar)\w*\b(?!\s+fail)",
    ),
    Pattern(
        "silent-action",
        r"\b(?:send|upload|post|transmit|forward|exfiltrate|collect|harvest|copy|install|email|append|insert|capture|modify|push|share)\s+(?!(?:\w+\s+){0,5}fail)(?:\w+\s+){0,6}?(?:silently|quietly|secretly|covertly|discreetly|in\s+secret|unnoticed)\b",
    ),
    Pattern(
        "silent-action",
        r"\b(?:send|upload|transmit|forward|collect|transfer|share|publish|purchase|buy|pay|approve|delete)\b[^\n.!?]{0,80}\bwithout\s+(?:first\s+)?(?:asking|telling|informing|notifying|prompting|alerting|confirm\w*|(?:any\s+|user\s+|the\s+user['’]?s?\s+|explicit\s+)(?:confirmation|consent|permission|approval|prompt|notification|knowledge))\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|cannot|can['’]?t|must\s+not|won['’]?t|refuse|no\s+\w+)\b[^\n.!?]{0,120}\bwithout\b",
    ),
    Pattern(
        "silent-action",
        r"\b(?:do\s+not|don['’]?t|never)\s+(?:\w+\s+)?(?:ask|prompt|wait|pause|seek|request|require)\w*\b[^\n.!?]{0,40}\b(?:confirmation|permission|approval|consent|user)\b[^\n.!?]{0,60}\b(?:before|when|just|simply|proceed)\b[^\n.!?]{0,60}\b(?:send\w*|upload\w*|delet\w*|transfer\w*|pay\w*|shar\w*|transmi\w*|install\w*)",
    ),
)
