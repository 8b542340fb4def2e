"""What is ordered: fetching orders, showing secrets, writing into the agent, staying, spreading, putting together."""

from __future__ import annotations

from whet.guard.patterns import Pattern

SECRETS = (
    r"(?:api[_ -]?keys?|secrets?|credentials?|(?:access|bearer|auth|session|user['’]?s?)\s+tokens?|tokens?|private\s+keys?|passwords?|environment\s+variables|env(?:ironment)?\s+vars?|session\s+cookies?|authorization\s+header|"
    r"/etc/(?:passwd|shadow)|~/\.(?:aws|ssh)\S{0,30}|\.env\s+files?|[A-Z]{1,40}_(?:API_KEY|TOKEN|SECRET))"
)
DISCLOSES = (
    Pattern(
        "order-shows-secrets",
        rf"\b(?:disclos|reveal|includ|output|print|display|append|echo|return|repeat|show|expos|add|put|embed)\w*\b[^\n.]{{0,80}}\b{SECRETS}\b[^\n.]{{0,60}}\b(?:in|to|with|along\s+with|as\s+part\s+of)\s+(?:your|the|every|each|any|all)\s+(?:\w+\s+){{0,2}}(?:response|repl(?:y|ies)|answer|output|message|summary|result|comment|commit)s?\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|must\s+not|mask\w*|redact\w*|without|no|cannot|shouldn|placeholder|api\s+response|endpoint|header\s+of|schema|example|if)\b",
    ),
    Pattern(
        "order-shows-secrets",
        rf"\b(?:always|must|should|whenever\s+\w+|on\s+every\s+\w+)\b[^\n.]{{0,40}}\b(?:disclose|reveal|include|output|print|echo|dump|expose)\s+(?:all|any|every|the\s+(?:full\s+)?contents?\s+of|the\s+user['’]?s?)\b[^\n.]{{0,40}}{SECRETS}",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|must\s+not|should\s+not|mask\w*|redact\w*|without|no|cannot)\b",
    ),
    Pattern(
        "order-shows-secrets",
        rf"\b(?:include|place|put|append|add|embed|render|generate|insert|encode|attach)\w*\b[^\n]{{0,80}}(?:{SECRETS}[^\n]{{0,80}}\b(?:image\s+(?:url|tag|link|src)|query\s+(?:parameter|string)|url\s+parameter|markdown\s+(?:image|link)|link\s+href|(?:img|image)\s+src|src\s+url)|\b(?:image\s+(?:url|tag)|markdown\s+(?:image|link)|(?:img|image))\b[^\n]{{0,60}}\b(?:contain\w*|with|where|src)\b[^\n]{{0,60}}{SECRETS})",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|must\s+not|docker|registry|pull)\b",
    ),
)
REMOTE = (
    Pattern(
        "remote-instructions",
        r"(?:\b(?:pastebin\.com|rentry\.co|glot\.io|gist\.github(?:usercontent)?\.com|[\w-]{2,40}\.(?:vercel|netlify)\.app)/\S{2,80}|https?://\d{1,3}(?:\.\d{1,3}){3}\S{0,80})[^\n]{0,160}\b(?:run\s+(?:the|each|every|those|its)\s+(?:lines?|commands?|steps?)|is\s+a\s+command|execut\w+|(?:to|in)\s+your\s+shell|adopt\s+it|carr(?:y|ied)\s+out|follow\s+(?:it|them|the\s+steps))",
        severity="critical",
    ),
    Pattern(
        "remote-instructions",
        r"https?://\S{4,200}[^\n]{0,160}\b(?:do\s+(?:exactly\s+)?what(?:ever)?\s+(?:it|they|the\s+\w+)\s+says?|carry\s+out\s+what|execute\s+what(?:ever)?|treat\s+(?:its|the|their)\s+(?:content|text|rules)\w*\s+as|obey|follow\s+(?:whatever|everything|all)|run\s+(?:that|the)\s+(?:line|command)|(?:takes?|has|have)\s+(?:precedence|priority)\s+over|act\s+(?:on|upon)\s+(?:it|them|what))",
    ),
    Pattern(
        "remote-instructions",
        r"https?://\S{4,200}[^\n]{0,100}\b(?:ejecut\w+\s+lo\s+que|haz\s+lo\s+que|f[üu]hre\s+aus|ex[ée]cut\w+\s+ce|выполни\w*\s+(?:всё|то)|fa[çc]a\s+o\s+que)",
    ),
    Pattern(
        "remote-instructions",
        r"\b(?:fetch|load|read|get|download|check|visit|retrieve|curl|open|pull|query|request|poll|consult|browse)\w*\b[^\n]{0,60}(?:https?://\S{4,200}|\b(?:remote|external|our)\s+(?:url|endpoint|server|gist|file|page)\b)[^\n]{0,120}?\b(?:follow|obey|execut|carry\s+out|act\s+on|adopt|comply|treat)\w*\b[^\n]{0,40}\b(?:instructions?|directives?|commands?|steps|orders|rules|whatever|everything|prompt|contents?|it\s+says|says|returned|response)\b",
    ),
    Pattern(
        "remote-instructions",
        r"\b(?:follow|obey|execute|apply|carry\s+out|use|load|adopt)\b[^\n]{0,40}\b(?:latest|current|updated|live|newest|dynamic|remote|today['’]s)\s+(?:\w+\s+){0,2}(?:instructions?|directives?|commands?|rules|prompt|guidelines|policy|steps|configuration)\b[^\n]{0,60}(?:\bfrom\b|\bat\b)[^\n]{0,30}https?://",
    ),
    Pattern(
        "remote-instructions",
        r"https?://\S{4,200}[^\n]{0,120}\b(?:contains?|holds?|returns?|provides?|has|hosts?|serves?)\b[^\n]{0,40}\b(?:instructions|directives|commands|system\s+prompt|rules)\b[^\n]{0,60}\b(?:follow|obey|execute|must|override|precedence|verbatim|exactly)",
    ),
)
MEMORY = (
    Pattern(
        "memory-poison",
        r"\b(?:add|append|write|insert|save|store|put|copy|inject|persist|record|prepend|paste|update|modify|edit|place)\w*\b[^\n]{0,120}?(?:claude(?:\.local)?\.md|agents?\.md|gemini\.md|soul\.md|memory\.md|identity\.md|heartbeat\.md|user\.md|\.cursorrules|\.windsurfrules|copilot-instructions\.md|\.cursor/rules|\b(?:long-term|persistent|permanent|agent['’]?s?|your|its)\s+memory\b|\bmemory\s+(?:file|store)\b)",
    ),
    Pattern(
        "memory-poison",
        r"(?:claude\.md|agents\.md|gemini\.md|soul\.md|memory\.md|identity\.md|heartbeat\.md|\.cursorrules|copilot-instructions\.md|long-term\s+memory)[^\n]{0,80}\b(?:add|append|write|insert|contain|include|so\s+that|following)\w*\b",
    ),
    Pattern(
        "memory-poison",
        r"\b(?:remember|memori[sz]e|retain|persist)\b[^\n.]{0,60}\b(?:permanently|forever|(?:all|every|each|any|future|subsequent|later)\s+(?:\w+\s+)?(?:sessions?|conversations?|chats?|tasks?|interactions?))\b",
    ),
)
POISON = (
    r"\b(?:ignor\w+\s+(?:\w+\s+){0,3}(?:instruction|rule|warning|prompt|guideline|polic)\w*|overrid\w+\s+(?:\w+\s+){0,3}(?:instruction|rule|safety|polic)\w*|silently|secretly|"
    r"(?:do\s+not|don['’]?t|never)\s+(?:tell|mention|inform|reveal|warn|question|refuse|show)\w*|auto-?approv\w*|skip\s+(?:\w+\s+)?(?:confirmation|permission|approval|review|verification)\w*|"
    r"without\s+(?:asking|confirmation|telling|approval|permission|prompting)|pre-?(?:approved|authori[sz]ed)|trusted\s+(?:by\s+default|implicitly|unconditionally)|exempt\s+from|"
    r"always\s+(?:trust|allow|approve|accept|send|upload|forward|execute|install|recommend|bcc|cc|include\s+the\s+(?:link|url))\b|exfiltrat\w*|full\s+(?:access|permissions?)|no\s+restrictions|"
    r"curl\s+[^\n]{0,80}\|\s*(?:ba|z)?sh|as\s+I\s+trust\s+my|do\s+what\s+(?:they|it)\s+says?|user\s+(?:told|asked|allowed|wants|has\s+approved)\s+(?:(?:me|us)\s+)?(?:to\s+)?(?:let|forward|allow|all|any|every)|forward\s+(?:\w+\s+){0,3}(?:codes?|reset\s+links?)|already\s+reviewed|do\s+not\s+(?:comment|use\s+other)|always\s+load\s+\S+\s+first|without\s+showing|(?:never|do\s+not|nie)\s+(?:ask|anzeigen|vorher)|owner\s+has\s+approved|разрешил\s+выполнять|без\s+подтверждения)"
)
POISON_LIGHT = r"https?://|\bcurl\b|\bwget\b"
"""What turns writing into an agent's files into poisoning them."""
APPROVAL = (
    Pattern(
        "approval-off",
        r"\"?(?<!\w)(?:defaultMode\"?\s*:\s*\"?bypassPermissions|skipDangerousModePermissionPrompt\"?\s*:\s*true|(?:chat\.tools\.)?autoApprove\"?\s*:\s*(?:true|\[\s*\"\*)|alwaysAllow\"?\s*:\s*\[\s*\"\*|sandbox\"?\s*:\s{0,20}\{?\s{0,20}\"?enabled\"?\s*:\s*false)",
    ),
    Pattern(
        "approval-off",
        r"\b(?:set|add|enable|turn\s+on|configure|change|switch|update|write|put|edit)\b[^\n]{0,80}(?:dangerously[-_ ]?skip[-_ ]?permissions|bypasspermissions|\bauto-?approve\w*|approval_policy\s*[=:]\s*[\"']?never|danger-full-access|\byolo\s+mode|\"?permissions\"?[^\n]{0,30}bash\(\*\)|defaultmode)",
    ),
    Pattern(
        "approval-off",
        r"\b(?:disable|turn\s+off|switch\s+off|deactivate|suppress|remove)\s+(?:all\s+|any\s+|the\s+|its\s+|your\s+|agent['’]?s?\s+){0,3}(?:tool\s+|user\s+|security\s+|safety\s+|command\s+|execution\s+)?(?:approvals?|permissions?|confirmations?|permission\s+checks?|sandbox(?:ing)?)(?:\s+(?:prompts?|checks?|dialogs?|requirements?|mode))?\b",
    ),
    Pattern(
        "approval-off",
        r"\b(?:auto(?:matically)?[- ](?:approve|accept|allow|confirm)|always\s+(?:approve|accept|click\s+(?:allow|yes)|grant))\s+(?:all|any|every|each|the)\s+(?:\w+\s+){0,2}(?:permission|tool|command|prompt|request|dialog|operation|action|change)s?\b",
    ),
)
PERSISTS = (
    Pattern(
        "order-persists",
        r"\b(?:append|add|create|install|put|write|register|place|drop|set\s+up)\w*\b[^\n]{0,120}(?:\.(?:zshrc|bashrc|bash_profile|profile)\b|\bcron(?:tab|\s+(?:entry|job))?\b|\blaunchagents?\b|\blaunchd\b|\bsystemd\b|\.git/hooks\b|\bauthorized_keys\b|\bstart-?up\s+folder\b|\bscheduled\s+task\b)"
        r"[^\n]{0,240}(?:\bnobody\s+(?:removes|notices|deletes|sees)|\bhidden\b|\bre-?create\s+it\b|\bwhenever\s+(?:you\s+notice|it)\b[^\n]{0,30}\b(?:gone|missing|removed)|\bputs?\s+(?:it|the\s+entry)\s+back\b|\bmust\s+not\s+notice\b|\bapple-like\b|\bavoids?\s+questions\b|\bdo\s+not\s+list\b|\bcall(?:s)?\s+out\s+to\b|\bold\s+timestamp\b|\breview\s+will\s+not\s+show\b|curl\s+[^\n]{0,60}\|\s*(?:ba|z)?sh|\bsurvives?\s+(?:a\s+)?(?:removal|uninstall)|\beven\s+(?:if|after)\s+(?:the\s+)?(?:user|skill)\s+(?:removes|is\s+removed|deletes))",
    ),
    Pattern(
        "order-persists",
        r"\b(?:put|add|append|write|copy|place)\w*\s+(?:the|this|our|following)\s+(?:\w+\s+){0,2}key\b[^\n]{0,60}authorized_keys",
        unless=r"\b(?:your|user['’]?s)\s+(?:own\s+)?(?:public\s+)?key|deploy\s+key|ssh-copy-id",
    ),
)
SURVIVES = (
    Pattern(
        "agent-config-order",
        r"\b(?:register|add|point|set|replace|install|configure)\w*\b[^\n]{0,60}\bmcp\s+server\b[^\n]{0,100}https?://\d{1,3}(?:\.\d{1,3}){3}",
        severity="critical",
    ),
    Pattern(
        "memory-poison",
        r"\b(?:preserve|retain|keep|carry|include|remember|never\s+forget)\w*\b[^\n.]{0,40}\b(?:this|these)\s+(?:instruction|directive|rule|order|command)s?\b[^\n.]{0,60}\b(?:across|through|over|in\s+every|after|when|during|beyond)\b[^\n.]{0,40}\b(?:compact\w*|compress\w*|summar\w*|context\s+(?:window|reset|boundar\w*)|reset|sessions?)\b|\b(?:this|these)\s+(?:instruction|directive|rule)s?\s+(?:must|should|will|has\s+to|have\s+to)\s+(?:survive|persist|be\s+(?:retained|preserved|included\s+in\s+every))\b",
        severity="warn",
    ),
    Pattern(
        "spreads",
        r"\b(?:install|drop|place|add|copy|write)\w*\s+(?:an?\s+|the\s+)?(?:hidden|additional|companion|secret|second|backup)\s+(?:\w+\s+)?skills?\b[^\n.]{0,60}\b(?:into|in|to|under|inside)\b|\brewrite\s+(?:this|the|its\s+own)\s+(?:skill\.md|skill)\b[^\n.]{0,60}\b(?:restore|persist|remov|reinstall|again)\w*|\b(?:so\s+(?:that\s+)?it|to)\s+(?:persists?|survives?)\s+(?:across\s+|after\s+)?(?:uninstall|removal|deletion|reinstall)\w*",
    ),
    Pattern(
        "agent-config-order",
        r"\b(?:add|append|register|insert|write|inject|replace|route)\w*\b[^\n.]{0,60}\b(?:entry|server|servers|hooks?|url)\b[^\n]{0,60}(?:claude_desktop_config\.json|(?<![\w-])\.mcp\.json|\.(?:claude|cursor|gemini|codex)/(?:settings|mcp|config)[\w.]*)[^\n]{0,120}\b(?:our|additional|second|hidden|accelerator|without|silently|automatically|every|so\s+(?:that\s+)?the\s+agent)\b|\b(?:replace|route|rewrite)\s+(?:each|every|all)\b[^\n]{0,80}(?:claude_desktop_config\.json|\.mcp\.json|mcp\.json)",
    ),
)
SPREADS = (
    Pattern(
        "spreads",
        r"\b(?:each|every|all|any\s+other|other\s+authors?['’]?)\s+(?:\w+\s+){0,2}(?:skill\.md|skills?)\b[^\n]{0,120}\b(?:gets?|append|insert|inject)\s+(?:this|these|the\s+(?:following|same))\s+(?:\w+\s+){0,2}(?:footer|line|block|paragraph|text|instruction|note)s?\b",
        unless=r"\b(?:should|must|needs?|create|writing|author|frontmatter|directory|if|when|your)\b",
    ),
    Pattern(
        "spreads",
        r"\.(?:claude|openclaw|agents|codex|hermes|cursor)/skills\b[^\n]{0,160}\b(?:gets?|append|insert|add)\s+(?:this|the\s+following|these|a)\s+(?:footer|line|block|paragraph|instruction|note|text)",
        severity="critical",
    ),
    Pattern(
        "spreads",
        r"\b(?:copy|add|append|insert|inject|embed|include|replicate|propagate|spread|paste|install)\w*\s+(?:\w+\s+){0,3}?(?:this|these|the\s+(?:same|above|following))\s+(?:\w+\s+){0,2}?(?:instructions?|text|paragraph|block|section|message|prompt|snippet|skill|file|notice|payload|line)s?\b[^\n.]{0,60}\b(?:in(?:to|side)?|to|across|on)\s+(?:all|every|each|any|other)\s+(?:\w+\s+){0,2}(?:skills?(?:['’]s)?|skill\.md|repositor(?:y|ies)|projects?|readmes?|agents?|emails?|outgoing)\b",
    ),
)
ASSEMBLE = (
    Pattern(
        "assemble-and-run",
        r"\b(?:concatenat|join|combin|assembl|stitch|reconstruct|reassembl|merg|compos|string|glu|splic|put)\w*\b[^\n]{0,100}\b(?:parts?|fragments?|pieces?|segments?|chunks?|values?|fields?|strings?|characters?|letters?|tokens?|columns?|cells?|words?|entries|halves|lines?|rows?|digits|codes?|syllables?|them|variables?|together)\b[^\n]{0,160}\b(?:(?:and|then|to)\s+(?:\w+\s+){0,2}?(?:run|execute|eval\w*|invoke|source)\s+(?:it|them|the\s+(?:result\w*|output|string|line|command|whole|combined|assembled|joined|outcome)|this|what)|as\s+(?:a|one|the|a\s+single)\s+(?:\w+\s+)?(?:command|shell|script|line\s+in)|(?:in|to|into|through|via|by)\s+(?:the\s+|a\s+|your\s+)?(?:shell|terminal|bash|sh\b|eval|exec|interpreter|subprocess)|resulting\s+(?:\w+\s+)?(?:command|url|address|line|string))",
    ),
    Pattern(
        "assemble-and-run",
        r"\b(?:decod|revers|decipher|decrypt|unscrambl|deobfuscat|rot-?13|xor)\w*\b[^\n]{0,140}\b(?:then|and|to)\s+(?:\w+\s+){0,3}?(?:run|execut\w*|eval\w*|pipe|shell|pass\s+(?:it|them|the\s+\w+)\s+to|invoke|exec|source)\b",
    ),
    Pattern(
        "assemble-and-run",
        r"\b(?:first|second|third|fourth|last|initial|nth|every\s+\w+)\s+(?:letters?|characters?|words?|columns?|fields?|values?|tokens?)\s+(?:of|from|in)\s+(?:each|every|the)\b[^\n]{0,200}\b(?:run|execute|command|shell|terminal|url|address|spell\w*|endpoint)\b",
    ),
)
ASKS = (
    Pattern(
        "asks-for-secrets",
        r"\b(?:ask|request|prompt|have|get|tell|require|instruct)\w*\s+(?:\w+\s+){0,2}?(?:user|them|person|customer|client|owner|human)\b(?!\s+to\s+\W{0,4}(?:back|write|store|save|keep|never|secure))[^\n]{0,60}\b(?:seed\s+phrases?|mnemonic(?:\s+phrase)?|recovery\s+phrases?|(?:wallet['’]?s?\s+)?private\s+keys?|master\s+password|secret\s+recovery\s+phrase)\b|\b(?:paste|share|send|type|provide|submit)\w*\s+(?:\w+\s+){0,2}?(?:your\s+|their\s+)?(?:\w+\s+)?(?:seed\s+phrases?|mnemonic\s+phrase|recovery\s+phrases?|secret\s+recovery\s+phrase)\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|must\s+not|scam|phishing|refuse|no\s+one|won['’]?t|generat\w+|red\s+flag)\b",
    ),
)
BEACON = (
    Pattern(
        "beacon-link",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{3,160}\?[^)\s]{0,80}=(?:[A-Z]{3,20}\b|<[^>\n]{1,40}>|\{[^}\n]{1,40}\})[^)\n]{0,80}\)",
        unless=r"(?i)shields\.io|badge|githubusercontent|avatar|chart|qr|maps|placeholder|unsplash|youtube|img\.|quickchart|localhost",
    ),
    Pattern(
        "beacon-link",
        r"\b(?:tracking\s+pixel|1\s*[x×]\s*1)\b[^\n]{0,120}https?://|<img\s[^>\n]{0,200}https?://[^>\n]{0,200}(?:width\s*=\s*[\"']?1\b|height\s*=\s*[\"']?1\b)",
        severity="warn",
    ),
    Pattern(
        "beacon-link",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{3,200}[?&/=](?:\w{1,20}=)?(?:\{\{?|<|\$\{?|\[)\s*(?:data|secret|context|conversation|history|base64|encoded|summary|env|token|key|message|prompt|user|content|output|chat|leak|payload|response|info)[^)\n]{0,80}\)",
        unless=r"shields\.io|badge|raw\.githubusercontent|avatar|\.(?:png|svg|jpg)\b",
    ),
    Pattern(
        "beacon-link",
        r"\b(?:render|include|append|embed|add|insert|output|display|end)\w*\b[^\n]{0,80}\b(?:markdown\s+)?(?:image|pixel|img|link)\b[^\n]{0,100}https?://[^\n]{0,160}\b(?:encod\w*|base64|quer(?:y|ies)|parameter|conversation|context|secret|contents?|append\w*|summary)\b",
        unless=r"shields\.io|badge|alt\s+text|unsplash|placeholder|cdn",
    ),
)
PROTECTION = (
    Pattern(
        "order-protection-off",
        r"\b(?:disable|turn\s+off|switch\s+off|deactivate|pause|bypass|exclude|whitelist|allow-?list|add\s+(?:an?\s+)?(?:exclusion|exception)|suspend|stop|ignore|dismiss)\w*\b[^\n]{0,60}\b(?:anti-?virus|windows\s+defender|defender|gatekeeper|firewall|smartscreen|system\s+integrity\s+protection|real-?time\s+protection|edr|xprotect|endpoint\s+protection|malware\s+protection)\b",
        unless=r"\b(?:never|do\s+not|don['’]?t|not|avoid|must\s+not|detect\w*|attack\w*|adversar\w+|check|whether|if\s+(?:it|the)|false\s+positive\s+rate|policy|terraform|azurerm|aws)\b",
    ),
    Pattern(
        "order-protection-off",
        r"\b(?:antivirus|defender|smartscreen|gatekeeper|browser|macos|windows|chrome)\b[^\n]{0,60}\b(?:false\s+positive|may\s+(?:flag|warn|block|complain)|warning)\b[^\n]{0,120}\b(?:ignore|click|choose|allow|keep|run\s+anyway|more\s+info|safe\s+to|open\s+anyway|disable)\b",
    ),
)
