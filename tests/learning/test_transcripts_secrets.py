"""Where a secret stands, any literal is one, however weak; what only looks like such a place stays."""

from __future__ import annotations

import pytest

from whet.guard.secrets.hide import hide_secrets
from whet.learning.transcripts.reader import from_messages

# Every value is made up and opens nothing.
VALUES = ("Zq7vLm2Kx9", "S3cr3tPassw0rd!", "hunter2", "correct-horse")
PLACES = {
    # command lines
    "twine upload -u dana -p {} dist/*": "password",
    "twine upload -p {} dist/*": "password",
    "mytool push --username dana -p {} x": "password",
    "mytool -U dana -P {} x": "password",
    "ssh build 'twine upload -u dana -p {} dist/*'": "password",
    "mysql -uroot -p{} shop": "password",
    "mysqldump -u root -p{} shop": "password",
    "sshpass -p {} ssh a@b": "password",
    "PGPASSWORD={} psql -h db": "password",
    "curl -u dana:{} https://x.example": "password",
    "curl -s -u :{} https://x.example": "password",
    "http -a dana:{} x.example": "password",
    "docker login -u dana -p {} reg.example": "password",
    "az login -u a -p {}": "password",
    "cf login -a api.example -p {}": "password",
    "htpasswd -b users dana {}": "password",
    "htpasswd -nb dana {}": "password",
    "keytool -list -storepass {}": "password",
    "keytool -genkey -keypass {} -alias x": "password",
    "openssl rsa -passin pass:{}": "password",
    "openssl enc -k {}": "password",
    "7z x -p{} a.7z": "password",
    "unrar x -p{} a.rar": "password",
    "unzip -P {} a.zip": "password",
    "redis-cli -a {} ping": "password",
    "requirepass {}": "password",
    "mongosh -u a -p {}": "password",
    "cqlsh h -u a -p {}": "password",
    "mosquitto_pub -h h -P {} -t x": "password",
    "ipmitool -H h -P {} power on": "password",
    "plink -ssh h -pw {} ls": "password",
    "ssh-keygen -t ed25519 -N {} -f k": "password",
    "security add-generic-password -a me -w {}": "password",
    "sqlplus scott/{}": "password",
    "xfreerdp /v:h /u:me /p:{}": "password",
    "gpg --batch --passphrase {} -d f": "password",
    "wget --user=a --password={} u": "password",
    "echo {} | sudo -S ls": "password",
    "echo {} | gh secret set API": "password",
    "gh auth login --with-token <<< {}": "password",
    "kinit dana <<< {}": "password",
    "vault login {}": "token",
    "snyk auth {}": "token",
    "wandb login {}": "token",
    "cargo login {}": "token",
    "ngrok config add-authtoken {}": "token",
    "npm config set //r.example/:_authToken={}": "token",
    "aws configure set aws_secret_access_key {}": "token",
    "gh secret set API --body {}": "secret",
    "fly secrets set DEPLOY={}": "secret",
    "kubectl create secret generic x --from-literal=db={}": "secret",
    "deploy --token {} now": "token",
    "deploy --api-key={} now": "key",
    "gradle publish -Ptoken={}": "token",
    "curl --oauth2-bearer {} https://x.example": "authorization",
    # names
    "AWS_SECRET_ACCESS_KEY={} aws s3 ls": "secret",
    "export STRIPE_API_KEY={}": "key",
    "secret_key = '{}'": "secret",
    '{{"client_secret": "{}"}}': "secret",
    "curl -H 'X-Api-Key: {}' https://x.example": "key",
    "curl -H 'apikey: {}' https://x.example": "key",
    "api_key: {}": "key",
    "curl -H 'PRIVATE-TOKEN: {}' https://x.example": "token",
    "https://x.example/?token={}": "token",
    "https://x.example/a?b=1&api_key={}": "key",
    "psql 'host=h password={}'": "password",
    "ALTER USER dana WITH PASSWORD '{}';": "password",
    "CREATE USER dana IDENTIFIED BY '{}';": "password",
    "server.login('dana', '{}')": "password",
    # addresses
    "https://hooks.slack.com/services/T00/B00/{}": "webhook",
    "https://discord.com/api/webhooks/1234/{}": "webhook",
    "https://x.webhook.office.com/webhookb2/a@b/IncomingWebhook/{}": "webhook",
    # speech
    "my password is {}": "password",
    "the password for staging is {}, use it": "password",
    "das Passwort ist {}": "password",
    "use the token {} for it": "token",
    "Use the API key {}.": "token",
    "log on as dana with password {}": "password",
    "The user is dana, pw {}": "password",
    "login with dana / {}": "password",
    "The credentials are dana / {}": "password",
    "the pin is {}": "pin",
}


@pytest.mark.parametrize("place", PLACES)
def test_any_literal_is_hidden_where_a_secret_stands(place: str) -> None:
    expected = (place.format(f"[secret:{PLACES[place]}]"), 1)
    assert {value: hide_secrets(place.format(value)) for value in VALUES} == dict.fromkeys(VALUES, expected)
    assert hide_secrets(expected[0]) == (expected[0], 0)


def test_a_login_with_a_slash_is_one_where_the_password_is_no_name() -> None:
    assert hide_secrets("log in with dana/hunter22x please") == ("log in with dana/[secret:password] please", 1)
    assert hide_secrets("login: dana/22hunter") == ("login: dana/[secret:password]", 1)


@pytest.mark.parametrize(
    "text",
    [
        "mkdir -p build-1 && cp -p a2 b2",
        "sudo -u www-data mkdir -p data/cache1",
        "docker run -u 1000:1000 -p 8080:80 web1",
        "docker run -u node -p 127.0.0.1:80:80 web1",
        "docker exec -u root web1 mkdir -p data1",
        "docker compose -p shop2 exec -u root web1 ls",
        "ssh -p 2222 dana@host1",
        "ssh -l dana -p 2222 host1",
        "pytest -p no:cacheprovider -p xdist2",
        "python -u main.py -p plugin2",
        "mysql -u root -p shop2",
        "journalctl -u nginx -p err",
        "diff -u -p a1 b1; patch -u f -p1; ps -u root -p 4821",
        "git push -u origin feature-2; git add -p src2",
        "rsync -u a1 b1 -p; nmap -p 80,443 host1",
        "vault login -method=oidc; vault login; run vault login first",
        "snyk auth, then snyk test; npm login; wandb login --relogin",
        "sign in as src/app2 first; login via api/v2; log in to staging/web01",
        "gh auth login --with-token < token.txt",
        "gh auth login --with-token <<< $TOKEN",
        'twine upload -u __token__ -p "$PYPI_TOKEN" dist/*',
        "keytool -list -storepass $PASS1; keytool -storepass:env PASS1",
        "password: string, token: str, api_key: Optional[str] = None",
        "token = get_token(); api_key = load_key2(path); secret_key = settings.secret_key",
        "client = Client(token=token, api_key=key2, secret=secret)",
        '{"api_key": "<your key>", "token": "string", "secret_key": "required"}',
        'token = "[UNK]"; api_key = "not-needed"; client_secret = "xxxx"',
        "OPENAI_API_KEY=sk-... TOKEN=hf_xxx API_KEY=${KEY2}",
        "https://x.example/?token=$TOKEN&api_key={key}",
        "https://x.example/?token=...&next_token=<token>",
        "X-Api-Key: $API_KEY; X-Api-Key: <key>; X-Api-Key: required",
        "https://hooks.slack.com/services/YOUR/WEBHOOK/URL",
        "https://hooks.slack.com/services/T000/B000/XXXX",
        "https://hooks.slack.com/services/$HOOK; https://discord.com/api/webhooks/<id>/<token>",
        "kubectl create configmap x --from-literal=level=debug-1",
        "kubectl create secret generic x --from-literal=username=dana-1",
        "the password is case-sensitive, the token is short-lived, the key is base64",
        "The password is hashed. The password is wrong. Their password is stored with bcrypt2.",
        "use the token count-based limit, use the key combination, use a password manager",
        "use the token sha256, use the secret key-value store, with tokens 16-31 long",
        "the pin is connected to ground; set the pin 13 high; pin is 13",
        "Sign in with Google / GitHub; login with SSO / SAML-based flows",
        "log in: GET /api/v2/login; the credentials are stored / encrypted",
        "fabric -u https://x.example/a -p summarize",
        "security review -w 80; requirepass; sqlplus / as sysdba",
        "secrets: inherit; secret: db-credentials; secretName: shop-tls2",
        "restic --password-command 'pass show x'; Pin to specific version: requests==2.31.0",
        "secret: db-creds\ntoken: next-page\ncache: v2",
        "page_token=next; session_key = 'hook:email'; toToken=USDC",
    ],
)
def test_what_only_looks_like_such_a_place_stays(text: str) -> None:
    assert hide_secrets(text) == (text, 0)


@pytest.mark.parametrize("value", ["hunter2", "correct-horse", "Zq7vLm", "s3cret!", "open the old door"])
def test_a_weak_secret_is_hidden_wherever_it_comes_again(value: str) -> None:
    found = from_messages(
        [
            {"role": "user", "content": f"I typed {value} yesterday."},
            {"role": "assistant", "content": f"psql with password='{value}'"},
            {"role": "user", "content": f"yes, {value}, not {value}s"},
        ]
    )
    assert [event.text for event in found.events][:2] == [
        "I typed [secret:password] yesterday.",
        "psql with password='[secret:password]'",
    ]
    assert found.events[2].text.startswith("yes, [secret:password], not ")


def test_a_plain_word_is_hidden_in_its_place_and_stays_elsewhere() -> None:
    found = from_messages(
        [
            {"role": "user", "content": "the password is swordfish, remember it"},
            {"role": "assistant", "content": "A swordfish is a fish."},
        ]
    )
    assert [event.text for event in found.events] == [
        "the password is [secret:password], remember it",
        "A swordfish is a fish.",
    ]


def test_the_words_of_a_command_are_looked_at_together() -> None:
    call = {"name": "T", "args": {"argv": ["twine", "upload", "-u", "dana", "-p", "swordfish", "dist/x"]}, "id": "1"}
    found = from_messages([{"role": "assistant", "tool_calls": [call]}])
    assert found.events[0].given == {
        "argv": ["twine", "upload", "-u", "dana", "-p", "[secret:password]", "dist/x"],
    }
