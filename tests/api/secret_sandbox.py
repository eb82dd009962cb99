"""Living sandboxes with secrets for hosts of the test."""
from living_sandbox import SandboxTest
from secret_upstream import Authority, Upstream

VALUE = "Bearer kIpQ7-never-seen-inside-0zX"
OTHER_VALUE = "Bearer kIpQ7-a-later-one-0zX"
MARK = "kIpQ7"  # in both of them

# urllib, by the variable, as programs would.
ASK = """
import os, sys, urllib.error, urllib.request
class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_): return None
def ask(path, **options):
    request = urllib.request.Request(os.environ["SANDBOX_SECRETS_URL"] + path, **options)
    try:
        return urllib.request.build_opener(Stay).open(request, timeout=60)
    except urllib.error.HTTPError as error:
        return error
"""


class SecretsTest(SandboxTest):
    trusts = True
    more_environment = {}

    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.addClassCleanup(cls.authority.remove)
        cls.site, cls.other = Upstream(cls.authority), Upstream(cls.authority)
        cls.addClassCleanup(cls.site.stop)
        cls.addClassCleanup(cls.other.stop)
        cls.place = f"localhost:{cls.site.port}"
        cls.environment = {"SANDBOX_NETWORK_ENABLED": "true", "LOG_LEVEL": "debug", "SANDBOX_POOL_SIZE": "0",
                           "SANDBOX_NETWORK_ALLOW": f"{cls.place},localhost:{cls.other.port},127.0.0.0/8:{cls.other.port},api.invalid:443", **cls.more_environment}
        if cls.trusts:
            cls.environment["SANDBOX_SECRETS_CA_FILE"] = str(cls.authority.file)
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.site.requests.clear()
        self.other.requests.clear()

    def secret(self, header="Authorization", value=VALUE, site=None, host="localhost"):
        return {"host": host, "port": (site or self.site).port, "header": header, "value": value}

    def network(self, *secrets, allow=None):
        return {"allow": allow or [self.place], "secrets": list(secrets) or [self.secret()]}

    def make_with(self, *secrets, allow=None, **fields):
        return self.make(network=self.network(*secrets, allow=allow), **fields)

    def ask(self, sandbox, code):
        done = sandbox.python(ASK + code)
        self.assertEqual(("", 0), (done["stderr"], done["exit_code"]), done)
        return done["stdout"].strip()

    def assert_came(self, request, header="authorization", value=VALUE):
        self.assertEqual([value], [text for name, text in request["headers"] if name.lower() == header])
