"""Django settings, all derived from the environment, the bootstrap file and the home.

Importing this module opens nothing and writes nothing: a check or a test imports it with no home
prepared. What needs a prepared home asks for it where it starts.
"""

from datetime import timedelta
from typing import Any

from django.utils.csp import CSP
from whitenoise.compress import Compressor

from coordination.contract.store import Credentials
from crewlet_site import bootstrap, env, keyring, limits
from crewlet_site.home import Home

ENVIRONMENT = env.read()
BOOTSTRAP = bootstrap.read(ENVIRONMENT.config)
HOME = Home(ENVIRONMENT.home)
BASE_DIR = env.ROOT
DEBUG = ENVIRONMENT.debug
BUILD = "0.1.0"

# --- who this process is -----------------------------------------------------------------------
NODE_ID = BOOTSTRAP.node_id or ENVIRONMENT.node_id or env.DEFAULT_NODE_ID
NODE_ROLES = BOOTSTRAP.roles
NODE_LABELS = dict(BOOTSTRAP.labels)
NODE_MAX_CONCURRENT = BOOTSTRAP.max_concurrent
BROKER_KIND = "member" if BOOTSTRAP.stream.is_embedded else "client"
PROCESS_NAME = ENVIRONMENT.process
PING_SOCKET = HOME.socket(PROCESS_NAME)

# --- where people reach it ---------------------------------------------------------------------
HTTP_HOST = ENVIRONMENT.host or BOOTSTRAP.api_host or env.DEFAULT_HOST
HTTP_PORT = ENVIRONMENT.port or BOOTSTRAP.api_port or env.DEFAULT_PORT
PUBLIC_URL = ENVIRONMENT.public_url
env.judge_exposure(HTTP_HOST, PUBLIC_URL, source="CREWLET_HOST" if ENVIRONMENT.host else "api.host")
LOCAL_NAMES = ["localhost", "127.0.0.1", "[::1]"]
# Where this machine's own commands reach the server; never by way of a proxy.
REACH_HOST = env.reach_host(HTTP_HOST)
API_URL = f"http://{REACH_HOST}:{HTTP_PORT}"
ALLOWED_HOSTS = [*LOCAL_NAMES, REACH_HOST, *([PUBLIC_URL.host] if PUBLIC_URL else [])]
LOCAL_ORIGINS = [f"http://{name}:{HTTP_PORT}" for name in LOCAL_NAMES]
SOCKET_ORIGINS = [PUBLIC_URL.origin] if PUBLIC_URL else LOCAL_ORIGINS
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL.origin] if PUBLIC_URL else []
BASE_URL = PUBLIC_URL.origin if PUBLIC_URL else API_URL
# What `./crewlet` shows the API; without it, the token file of the home.
OPERATOR_TOKEN = ENVIRONMENT.api_token
_IS_SECURE = PUBLIC_URL is not None and PUBLIC_URL.is_secure
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _IS_SECURE else None
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _IS_SECURE

# --- keys --------------------------------------------------------------------------------------
CREWLET_KEYRING = (
    keyring.Keyring(active_key_id=BOOTSTRAP.active_key_id, keys=BOOTSTRAP.keys)
    if BOOTSTRAP.active_key_id is not None
    else keyring.load(HOME.root) or keyring.ephemeral()
)
SECRET_KEY = CREWLET_KEYRING.derive("django secret key")
SECRET_KEY_FALLBACKS = list(CREWLET_KEYRING.derive_fallbacks("django secret key"))

# --- applications ------------------------------------------------------------------------------
INSTALLED_APPS = [
    "crewlet_site",
    "runtime",
    "accounts",
    "company",
    "fleet",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "channels",
    "django_htmx",
    "ninja",
]
MIDDLEWARE = [
    "crewlet_site.middleware.ReadLikeGet",
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "crewlet_site.middleware.KeptByNobody",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "crewlet_site.middleware.JsonPolicy",
    "crewlet_site.middleware.MethodsInWords",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # Inside the one that serves static files: those are compressed once, at the start.
    "crewlet_site.middleware.Compressed",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "crewlet_site.middleware.SignedInOnly",
    "crewlet_site.middleware.NoFormsWhileStopping",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "crewlet_site.urls"
ASGI_APPLICATION = "crewlet_site.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "fleet.context.frame",
            ]
        },
    }
]

# --- databases ---------------------------------------------------------------------------------
_SQLITE: dict[str, Any] = {
    "timeout": 5,
    # A deferred transaction that read first is told "locked" at once, whatever the time-out.
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
}
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": HOME.node_database,
        "OPTIONS": dict(_SQLITE),
    },
    "estate": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": HOME.estate_database,
        # Only the writer of estate rows lifts query_only, for as long as it writes.
        "OPTIONS": {**_SQLITE, "init_command": _SQLITE["init_command"] + "PRAGMA query_only=ON;"},
    },
}
DATABASE_ROUTERS = ["crewlet_site.routers.NodeAndEstate"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- people ------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.Person"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "accounts.backends.PersonBackend",
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
SESSION_COOKIE_AGE = 12 * 60 * 60
SESSION_COOKIE_NAME = "crewlet_session"
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_NAME = "crewlet_csrf"
CSRF_COOKIE_SAMESITE = "Lax"
MESSAGE_STORAGE = "django.contrib.messages.storage.cookie.CookieStorage"
LOGIN_URL = "/sign-in/"
LOGIN_REDIRECT_URL = "/fleet/"
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_ENABLE_ADMIN = False
AXES_VERBOSE = False
AXES_DISABLE_ACCESS_LOG = True
# The page says for how long it is locked, so an attempt meanwhile must not start that anew.
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_CALLABLE = "accounts.views.locked_out"
# A sign-in name is unique among those present; a removed person's is free again.
SILENCED_SYSTEM_CHECKS = ["auth.W004"]

# --- the page's own safety ---------------------------------------------------------------------
SECURE_CSP = {
    "default-src": [CSP.NONE],
    "script-src": [CSP.SELF],
    "style-src": [CSP.SELF],
    "font-src": [CSP.SELF],
    "img-src": [CSP.SELF],
    "connect-src": [CSP.SELF],
    "form-action": [CSP.SELF],
    "base-uri": [CSP.NONE],
    "frame-ancestors": [CSP.NONE],
}
SECURE_CONTENT_TYPE_NOSNIFF = True
# Not no-referrer: under that browsers send `Origin: null` with a page's own forms, and the check of
# the origin then refuses every one of them. Nothing leaves this site either way.
SECURE_REFERRER_POLICY = "same-origin"
CSRF_FAILURE_VIEW = "runtime.access.csrf_failed"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = limits.BODY_LIMIT_BYTES

# --- static files ------------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = HOME.static
STATICFILES_DIRS = [BASE_DIR / "static"] if (BASE_DIR / "static").is_dir() else []
# Beside whitenoise's own list, source maps: megabytes that only a debugger opens.
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = [*Compressor.SKIP_COMPRESS_EXTENSIONS, "map"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# --- language and time -------------------------------------------------------------------------
LANGUAGE_CODE = "en"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

# --- coordination ------------------------------------------------------------------------------
LEASE_TTL = BOOTSTRAP.lease_ttl
COORDINATION_TYPE = BOOTSTRAP.coordination_type
STORE_KEEPS_NOTHING = BOOTSTRAP.stream.keeps_nothing
BROKER_SYNC = BOOTSTRAP.stream.sync


def _broker_sign_in() -> Credentials | None:
    if BOOTSTRAP.stream.is_embedded:
        pair = HOME.broker_sign_in()
    else:
        pair = (BOOTSTRAP.stream.user, BOOTSTRAP.stream.password)
    return Credentials(user=pair[0], password=pair[1]) if pair and pair[0] else None


def _broker_url() -> str:
    if BOOTSTRAP.stream.is_embedded:
        return HOME.broker_url()
    token = BOOTSTRAP.stream.token
    return BOOTSTRAP.stream.url.replace("://", f"://{token}@") if token else BOOTSTRAP.stream.url


COORDINATION = {
    "BACKEND": "coordination.open_jetstream",
    "OPTIONS": {
        "url": _broker_url(),
        "credentials": _broker_sign_in(),
        "domain": "crewlet" if BOOTSTRAP.stream.is_embedded else None,
        "replicas": BOOTSTRAP.stream.replicas,
        "prefix": "crewlet",
        "lease_ttl": LEASE_TTL,
        "name": f"{NODE_ID}:{PROCESS_NAME}",
    },
}
COMPANY_DOCUMENT = ENVIRONMENT.company
HUB_RELIST_SECONDS = ENVIRONMENT.relist_seconds

# --- logging -----------------------------------------------------------------------------------
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "console": {"()": "crewlet_site.logs.KeyValueFormatter"},
        "json": {"()": "crewlet_site.logs.JsonFormatter"},
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": BOOTSTRAP.log_format}},
    "root": {"handlers": ["stderr"], "level": BOOTSTRAP.log_level.upper()},
    "loggers": {"django": {"handlers": [], "propagate": True}},
}
