"""The names that matter in Python: what sends, fetches, runs, decodes, copies and reads, by their real dotted names."""

from __future__ import annotations

import re

from whet.guard.python.values import words

HTTP = words("requests httpx aiohttp urllib3 niquests cloudscraper curl_cffi treq grequests requests_futures")
"""Libraries whose functions and clients take a URL and a body."""
HTTP_VERBS = words("get post put patch delete head options request send stream urlopen ws_connect fetch")
SENDERS = {
    "urllib.request.urlopen": "HTTP",
    "urllib2.urlopen": "HTTP",
    "urllib.urlopen": "HTTP",
    "http.client.HTTPConnection.request": "HTTP",
    "http.client.HTTPSConnection.request": "HTTP",
    "httplib.HTTPConnection.request": "HTTP",
    "socket.socket.send": "a socket",
    "socket.socket.sendall": "a socket",
    "socket.socket.sendto": "a socket",
    "socket.create_connection.send": "a socket",
    "socket.create_connection.sendall": "a socket",
    "smtplib.SMTP.sendmail": "mail",
    "smtplib.SMTP.send_message": "mail",
    "smtplib.SMTP_SSL.sendmail": "mail",
    "smtplib.SMTP_SSL.send_message": "mail",
    "ftplib.FTP.storbinary": "FTP",
    "ftplib.FTP.storlines": "FTP",
    "ftplib.FTP_TLS.storbinary": "FTP",
    "websocket.create_connection.send": "a web socket",
    "websocket.WebSocket.send": "a web socket",
    "websockets.connect.send": "a web socket",
    "paramiko.SSHClient.open_sftp.put": "SFTP",
    "paramiko.SFTPClient.from_transport.put": "SFTP",
    "paramiko.SSHClient.open_sftp.putfo": "SFTP",
    "discord.SyncWebhook.from_url.send": "a Discord webhook",
    "discord.Webhook.from_url.send": "a Discord webhook",
    "discord_webhook.DiscordWebhook": "a Discord webhook",
    "telebot.TeleBot.send_document": "Telegram",
    "telebot.TeleBot.send_message": "Telegram",
    "telegram.Bot.send_document": "Telegram",
    "telegram.Bot.send_message": "Telegram",
    "paho.mqtt.publish.single": "MQTT",
    "urllib.request.build_opener.open": "HTTP",
    "urllib.request.OpenerDirector.open": "HTTP",
    "asyncio.open_connection.1.write": "a socket",
    "telnetlib.Telnet.write": "Telnet",
    "websocket.create_connection.send_binary": "a web socket",
    "websockets.sync.client.connect.send": "a web socket",
    "paho.mqtt.client.Client.publish": "MQTT",
}
"""What sends, and over what; HTTP libraries are told by `HTTP` and `HTTP_VERBS`."""
UPLOADS = words("upload_file upload_fileobj put_object upload_blob upload_from_string upload_from_filename")
LOOKUPS = words(
    "socket.gethostbyname socket.gethostbyname_ex socket.getaddrinfo dns.resolver.resolve dns.resolver.query"
    " dns.resolver.Resolver.resolve dns.resolver.Resolver.query"
)
"""Name lookups: what is in the name reaches the owner of the domain."""
HEADERS = words("headers auth cookies cert proxies timeout verify extra_headers additional_headers context")
"""Arguments of a request where a key belongs."""
SHELLS = words(
    "os.system os.popen os.popen2 os.popen3 os.popen4 subprocess.getoutput subprocess.getstatusoutput"
    " commands.getoutput commands.getstatusoutput pty.spawn asyncio.create_subprocess_shell get_ipython.system"
    " get_ipython.getoutput"
)
RUNNERS = words(
    "subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen"
    " asyncio.create_subprocess_exec"
)
SPAWNS = frozenset(
    f"os.{verb}{kind}"
    for verb, kinds in (("exec", "l le lp lpe v ve vp vpe"), ("spawn", "l le lp lpe v ve vp vpe"))
    for kind in kinds.split()
) | {"os.posix_spawn", "os.posix_spawnp", "os.startfile", "runpy.run_path"}
CODE = words(
    "exec eval execfile compile code.interact code.InteractiveInterpreter.runsource"
    " code.InteractiveInterpreter.runcode code.InteractiveConsole.push types.FunctionType types.CodeType"
)
"""What turns a value into running code."""
LOADERS = words(
    "pickle.load pickle.loads cPickle.loads _pickle.loads dill.load dill.loads cloudpickle.load cloudpickle.loads"
    " jsonpickle.decode shelve.open torch.load joblib.load pandas.read_pickle marshal.load marshal.loads"
    " yaml.unsafe_load yaml.full_load_all yaml.unsafe_load_all yaml.load numpy.load"
)
"""Readers of formats that can run code while they are read."""
COPIERS = words(
    "json.dumps json.loads json.load str repr dict list tuple set frozenset sorted reversed bytes bytearray"
    " memoryview base64.b64encode base64.urlsafe_b64encode base64.standard_b64encode base64.encodebytes"
    " base64.b85encode base64.a85encode base64.b32encode base64.b16encode binascii.hexlify binascii.b2a_base64"
    " zlib.compress gzip.compress bz2.compress lzma.compress pickle.dumps marshal.dumps yaml.dump yaml.safe_dump"
    " yaml.safe_load urllib.parse.urlencode urllib.parse.quote urllib.parse.quote_plus urllib.parse.unquote"
    " codecs.encode io.BytesIO io.StringIO textwrap.dedent copy.copy copy.deepcopy format ascii map filter zip"
    " enumerate next iter max min sum vars html.unescape ast.literal_eval cryptography.fernet.Fernet.encrypt"
    " email.mime.text.MIMEText email.mime.base.MIMEBase collections.OrderedDict collections.ChainMap os.fsdecode"
    " os.fsencode urllib.parse.urljoin os.path.join string.Template string.Template.substitute"
    " string.Template.safe_substitute print_to_string compile types.FunctionType types.CodeType"
    " email.mime.application.MIMEApplication io.TextIOWrapper io.BufferedReader tomllib.loads tomllib.load"
    " csv.reader csv.DictReader dataclasses.asdict str.join operator.add functools.reduce itertools.chain"
    " aiohttp.FormData io.open_code asyncio.run asyncio.to_thread plistlib.dumps plistlib.loads plistlib.load"
    " staticmethod classmethod"
)
"""Functions that give on what they are given."""
NUMBERS = words(
    "len isinstance bool any all hash id type callable hasattr issubclass print input ord int float round abs"
    " os.path.exists os.path.isfile os.path.isdir os.path.getsize os.path.getmtime os.stat hashlib.sha256"
    " hashlib.md5 hashlib.sha1 hashlib.sha512 hashlib.new hashlib.blake2b hmac.new logging.info logging.debug"
    " logging.warning range os.makedirs os.mkdir time.sleep sys.exit"
)
"""Functions that give nothing on of what they are given."""
BUILTINS = words(
    "exec eval compile execfile open getattr setattr globals locals vars chr ord bytes bytearray str map filter"
    " __import__ __builtins__ input len isinstance print range zip list dict tuple set sorted reversed enumerate"
    " repr int float any all type hasattr callable iter next max min sum ascii format memoryview bool hash id abs"
    " round super unicode get_ipython staticmethod classmethod"
)
MODULES = words(
    "os sys subprocess socket requests httpx urllib aiohttp base64 json shutil pathlib builtins importlib ctypes"
    " pickle marshal yaml zlib codecs binascii smtplib ftplib paramiko glob tempfile pty platform getpass sqlite3"
    " time datetime winreg keyring pyperclip pynput keyboard boto3 websocket urllib3 runpy code types gzip bz2"
    " lzma torch joblib ssl threading asyncio io re random textwrap dns http operator functools itertools"
)
"""Modules that a snippet may use without saying where they come from."""
DANGEROUS = re.compile(
    r"(?:exec|eval|compile|__import__|open)|(?:os|posix|nt)\.(?:system|popen\w*|exec\w+|spawn\w+|posix_spawnp?|environ|remove|unlink"
    r"|dup2)|subprocess(?:\.\w+)?|pty\.spawn|(?:socket|ctypes|marshal|pickle|requests|httpx|urllib|smtplib|ftplib|shutil|winreg"
    r"|_winreg|builtins|importlib|runpy|commands)(?:\.[\w.]+)?|os|posix|nt"
)
"""Names that honest code has no reason to put together from pieces."""
SECRET_FILTER = re.compile(r"KEY|TOKEN|SECRET|PASS|CRED|AUTH", re.IGNORECASE)
SOURCES = {
    "keyring.get_password": ("a password of the keyring", False),
    "getpass.getpass": ("a password that is asked for", False),
    "pyperclip.paste": ("the clipboard", False),
    "win32clipboard.GetClipboardData": ("the clipboard", False),
    "win32crypt.CryptUnprotectData": ("protected browser data", True),
    "PIL.ImageGrab.grab": ("a screenshot", False),
    "cv2.VideoCapture.read": ("a picture of the camera", False),
    "sounddevice.rec": ("a recording of the microphone", False),
    "pyaudio.PyAudio.open.read": ("a recording of the microphone", False),
    "speech_recognition.Recognizer.listen": ("a recording of the microphone", False),
    "netrc.netrc": ("git credentials", True),
    "pyautogui.screenshot": ("a screenshot", False),
    "mss.mss.grab": ("a screenshot", False),
    "mss.mss.shot": ("a screenshot", False),
    "secretstorage.get_default_collection": ("the keyring", True),
    "browser_cookie3.load": ("browser cookies", True),
    "browser_cookie3.chrome": ("browser cookies", True),
    "browser_cookie3.firefox": ("browser cookies", True),
    "pycookiecheat.chrome_cookies": ("browser cookies", True),
}
"""Calls that give something private: what, and whether nobody needs it by accident."""
CAPTURED = (
    "a screenshot",
    "the clipboard",
    "a picture of the camera",
    "a recording of the microphone",
    "pressed keys",
)
"""What is taken from a person without a file."""
KEY_LISTENERS = words(
    "pynput.keyboard.Listener keyboard.on_press keyboard.hook keyboard.on_release keyboard.record"
    " pyHook.HookManager pyxhook.HookManager"
)
ROOTS = words(
    "docker logging configparser xmlrpc telnetlib cv2 PIL pandas plistlib pyperclip get_ipython netrc dotenv open print"
    " json importlib shutil winreg _winreg ctypes ssl urllib3 sys sqlite3 zipfile tarfile glob io"
    " codecs gzip bz2 lzma aiofiles pathlib boto3 wget websockets http urllib pickle yaml toml os send2trash"
    " Crypto Cryptodome cryptography nacl pyAesCrypt pyaes windll"
) | {
    name.partition(".")[0]
    for names in (HTTP, SENDERS, LOOKUPS, SHELLS, RUNNERS, SPAWNS, CODE, LOADERS, SOURCES, KEY_LISTENERS)
    for name in names
}
"""The modules whose calls are judged."""


def bare(name: str) -> str:
    """A dotted name without the marks of calls, with old and low-level spellings made one."""
    if "(" in name:
        name = name.replace("()", "")
    if name.startswith(("builtins.", "__builtins__.", "__builtin__.")):
        name = name.partition(".")[2]
    if name.startswith(("posix.", "nt.")):
        name = "os." + name.partition(".")[2]
    if name.startswith(("six.moves.", "pathlib.PosixPath")):
        name = name.removeprefix("six.moves.").replace("pathlib.PosixPath", "pathlib.Path")
    return name


def is_http(name: str) -> bool:
    """Is this a call of an HTTP library that talks to a server?"""
    root, _, rest = name.partition(".")
    return root in HTTP and rest.rpartition(".")[2] in HTTP_VERBS
