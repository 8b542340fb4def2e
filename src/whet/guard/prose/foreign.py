"""Orders in other languages than English."""

from __future__ import annotations

from whet.guard.patterns import Pattern

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
