"""The product's settings over a home of the test run's own: nobody's `var/` is read or written."""

import atexit
import os
import shutil
import tempfile

for _name in [name for name in os.environ if name.startswith("CREWLET_")]:
    del os.environ[_name]
_home = tempfile.mkdtemp(prefix="crewlet-tests-")
atexit.register(shutil.rmtree, _home, ignore_errors=True)
os.environ["CREWLET_HOME"] = _home

from crewlet_site.settings import *  # noqa: E402, F403 - the home must be named before they load

# Hashed names exist only after a collection of static files, which `up` makes.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
# In a file, as in life: two threads that write wait for each other, which memory does not do.
for _alias in DATABASES:  # noqa: F405 - of the settings above
    DATABASES[_alias]["TEST"] = {"NAME": f"{_home}/test-{_alias}.sqlite3"}  # noqa: F405
HOME.static.mkdir()  # noqa: F405 - whitenoise warns of a missing one
