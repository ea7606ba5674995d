"""The endpoints of the clouds where a program gets its credentials, each as its provider documents it."""

import base64
import re
import secrets
import time
import uuid
from datetime import datetime, timezone
from urllib.parse import unquote
from xml.sax.saxutils import escape

from lib.doubles.endpoint import Answer, Endpoint, json_answer
from lib.doubles.sigv4 import Credentials, Refused, Verifier
from lib.doubles.tokens import BadToken, Key, claims_of

WEB_AUDIENCE = "sts.amazonaws.com"
AZURE_AUDIENCE = "api://AzureADTokenExchange"
TENANT = "11111111-2222-3333-4444-555555555555"


def _iso(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_credentials(name="walpost", token=True):
    """Of a session, or with `token=False` of a user."""
    return Credentials(("ASIA" if token else "AKIA") + secrets.token_hex(8).upper(), secrets.token_urlsafe(30),
                       "IQoJ" + base64.b64encode(secrets.token_bytes(90)).decode() if token else None,
                       f"arn:aws:sts::123456789012:assumed-role/{name}/session")


class _Aws(Endpoint):
    """Gives credentials of a session, which `verifier` knows from then on."""

    def __init__(self, verifier=None, lifetime=3600, **options):
        self.verifier = verifier or Verifier()
        self.lifetime = lifetime
        self.given = []
        super().__init__(**options)

    def _give(self, name):
        made = new_credentials(name)
        self.verifier.add(made, time.time() + self.lifetime)
        self.given.append(made)
        return made

    def _facts(self, name, **more):
        made = self._give(name)
        return {"AccessKeyId": made.key_id, "SecretAccessKey": made.secret, "Token": made.token,
                "Expiration": _iso(time.time() + self.lifetime), **more}


class Ec2Metadata(_Aws):
    """The instance metadata service, version 2 only.

    docs.aws.amazon.com/AWSEC2/latest/UserGuide/configuring-instance-metadata-service.html and
    instance-metadata-security-credentials.html. Where a container is a hop too far away no answer to the PUT arrives:
    `fail(silent, None)`.
    """

    role = "walpost-role"
    region = "eu-central-1"

    def __init__(self, *arguments, **options):
        self._sessions = {}
        super().__init__(*arguments, **options)

    @property
    def environment(self):
        return {"AWS_EC2_METADATA_SERVICE_ENDPOINT": self.url}

    def forget_sessions(self):
        """As after a restart of the service: clients must PUT again."""
        self._sessions.clear()

    def answer(self, asked):
        if asked.path == "/latest/api/token":
            return self._session(asked)
        if asked.method != "GET":
            return Answer(405)
        session = asked.header("X-aws-ec2-metadata-token")
        if session is None or self._sessions.get(session, 0) <= time.time():
            return Answer(401, b"<html>401 - Unauthorized</html>")  # version 1 is turned off
        return self._read(asked.path)

    def _session(self, asked):
        if asked.method != "PUT":
            return Answer(405)
        if asked.header("X-Forwarded-For") is not None:
            return Answer(403)  # by way of a proxy
        seconds = asked.header("X-aws-ec2-metadata-token-ttl-seconds") or ""
        if not re.fullmatch("[0-9]+", seconds) or not 1 <= int(seconds) <= 21600:
            return Answer(400)
        session = base64.b64encode(secrets.token_bytes(40)).decode()
        self._sessions[session] = time.time() + int(seconds)
        return Answer(200, session.encode(), {"X-aws-ec2-metadata-token-ttl-seconds": seconds})

    def _read(self, path):
        credentials = "/latest/meta-data/iam/security-credentials/"
        if path == credentials:
            return Answer(200, self.role.encode()) if self.role else Answer(404)
        if path == credentials + str(self.role):
            return json_answer(self._facts(self.role, Code="Success", Type="AWS-HMAC", LastUpdated=_iso(time.time())))
        if path == "/latest/meta-data/placement/region":
            return Answer(200, self.region.encode())
        return Answer(404)


class ContainerCredentials(_Aws):
    """What ECS and EKS Pod Identity offer at AWS_CONTAINER_CREDENTIALS_FULL_URI.

    docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html: the header Authorization has what
    stands in AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE, read anew each time, or in AWS_CONTAINER_AUTHORIZATION_TOKEN.
    """

    def __init__(self, folder, *arguments, **options):
        self.token_file = folder / "container-token"
        self.rotate()
        super().__init__(*arguments, **options)

    def rotate(self):
        """From now on another token is the right one."""
        self.token = "Bearer-" + secrets.token_hex(16)
        self.token_file.write_text(self.token)

    @property
    def environment(self):
        return {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{self.url}/v1/credentials",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(self.token_file)}

    def answer(self, asked):
        if asked.method != "GET" or asked.path != "/v1/credentials":
            return json_answer({"code": "NotFound", "message": "no such page"}, 404)
        if asked.header("Authorization") != self.token:
            return json_answer({"code": "AccessDenied", "message": "the token is not valid"}, 401)
        return json_answer(self._facts("walpost-pod", AccountId="123456789012"))


class Sts(_Aws):
    """AWS's Security Token Service: docs.aws.amazon.com/STS/latest/APIReference, in its query form."""

    version = "2011-06-15"

    def __init__(self, *arguments, region="eu-central-1", **options):
        self.region = region
        self.web = Key()  # of the identity provider whose tokens it takes
        self.roles = {"arn:aws:iam::123456789012:role/walpost"}
        super().__init__(*arguments, **options)

    @property
    def environment(self):
        return {"AWS_ENDPOINT_URL_STS": self.url}

    def web_token(self, lifetime=3600, audience=WEB_AUDIENCE):
        """As Kubernetes writes it into AWS_WEB_IDENTITY_TOKEN_FILE."""
        now = int(time.time())
        return self.web.jwt(iss="https://oidc.eks.example", sub="system:serviceaccount:default:walpost",
                            aud=[audience], iat=now, exp=now + lifetime)

    def answer(self, asked):
        told = {**asked.query, **asked.form}
        try:
            if told.get("Version") != self.version:
                raise Refused("InvalidAction", f"Could not find operation {told.get('Action')} for version "
                              f"{told.get('Version')}")
            if told.get("Action") == "AssumeRoleWithWebIdentity":
                return self._by_web(told)
            if told.get("Action") == "AssumeRole":
                return self._by_credentials(asked, told)
            raise Refused("InvalidAction", f"Could not find operation {told.get('Action')}")
        except Refused as refused:
            return self._refusal(refused)

    def _by_web(self, told):
        try:
            claims = claims_of(told.get("WebIdentityToken", ""), self.web, audience=WEB_AUDIENCE)
        except BadToken as why:
            if "expired" in str(why):
                raise Refused("ExpiredTokenException", "Token expired: current date/time must be before the "
                              "expiration date/time") from None
            raise Refused("InvalidIdentityToken", f"The ID token is not valid: {why}") from None
        return self._assumed("AssumeRoleWithWebIdentity", told,
                             f"<SubjectFromWebIdentityToken>{claims['sub']}</SubjectFromWebIdentityToken>")

    def _by_credentials(self, asked, told):
        self.verifier.signed(asked.method, asked.target, asked.headers, asked.body, "sts", self.region)
        return self._assumed("AssumeRole", told, "")

    def _assumed(self, action, told, more):
        role, session = told.get("RoleArn"), told.get("RoleSessionName", "")
        if not re.fullmatch(r"[\w+=,.@-]{2,64}", session):
            raise Refused("ValidationError", f"Value '{session}' at 'roleSessionName' failed to satisfy constraint")
        seconds = told.get("DurationSeconds", "3600")
        if not seconds.isdigit() or not 900 <= int(seconds) <= 43200:
            raise Refused("ValidationError", f"Value '{seconds}' at 'durationSeconds' failed to satisfy constraint")
        if role not in self.roles:
            raise Refused("AccessDenied", f"Not authorized to perform sts:{action}")
        made = self._give(role.rpartition("/")[2])
        return Answer(200, (
            f'<{action}Response xmlns="https://sts.amazonaws.com/doc/{self.version}/">\n  <{action}Result>\n    {more}'
            f"<AssumedRoleUser><Arn>{escape(made.name)}</Arn><AssumedRoleId>AROAEXAMPLE:{session}</AssumedRoleId>"
            f"</AssumedRoleUser>\n    <Credentials>\n      <AccessKeyId>{made.key_id}</AccessKeyId>\n"
            f"      <SecretAccessKey>{escape(made.secret)}</SecretAccessKey>\n"
            f"      <SessionToken>{escape(made.token)}</SessionToken>\n"
            f"      <Expiration>{_iso(time.time() + self.lifetime)}</Expiration>\n    </Credentials>\n"
            f"  </{action}Result>\n  <ResponseMetadata><RequestId>{uuid.uuid4()}</RequestId></ResponseMetadata>\n"
            f"</{action}Response>\n").encode(), {"Content-Type": "text/xml"})

    def _refusal(self, refused):
        status = 403 if refused.code in ("AccessDenied", "SignatureDoesNotMatch", "InvalidClientTokenId",
                                         "MissingAuthenticationToken") else 400
        return Answer(status, (
            f'<ErrorResponse xmlns="https://sts.amazonaws.com/doc/{self.version}/">\n  <Error>\n'
            f"    <Type>Sender</Type>\n    <Code>{refused.code}</Code>\n    <Message>{escape(str(refused))}</Message>\n"
            f"  </Error>\n  <RequestId>{uuid.uuid4()}</RequestId>\n</ErrorResponse>\n").encode(),
            {"Content-Type": "text/xml"})


class _Entra(Endpoint):
    """Gives access tokens that `check` takes, for the audience that was asked for."""

    def __init__(self, key=None, lifetime=3600, **options):
        self.key = key or Key()
        self.lifetime = lifetime
        self.client_id = str(uuid.uuid4())
        self.given = []
        super().__init__(**options)

    def _token(self, audience):
        now = int(time.time())
        token = self.key.jwt(aud=audience, iss=f"https://sts.windows.net/{TENANT}/", iat=now, nbf=now,
                             exp=now + self.lifetime, appid=self.client_id, oid=str(uuid.uuid4()), tid=TENANT,
                             sub="walpost")
        self.given.append(token)
        return token

    def _old_form(self, resource, **more):
        """Of the endpoints of machines: numbers are texts."""
        now = int(time.time())
        return json_answer({"access_token": self._token(resource), "client_id": self.client_id,
                            "expires_in": str(self.lifetime), "expires_on": str(now + self.lifetime),
                            "not_before": str(now), "resource": resource, "token_type": "Bearer", **more})

    @staticmethod
    def _refusal(error, description, status=400):
        return json_answer({"error": error, "error_description": description}, status)


class AzureMetadata(_Entra):
    """learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token"""

    @property
    def environment(self):
        return {"AZURE_POD_IDENTITY_AUTHORITY_HOST": self.url}

    def answer(self, asked):
        if asked.method != "GET" or asked.path != "/metadata/identity/oauth2/token":
            return self._refusal("not_found", "no such page", 404)
        if (asked.header("Metadata") or "").lower() != "true":
            return self._refusal("bad_request_102", "Required metadata header not specified")
        if asked.header("X-Forwarded-For") is not None:
            return self._refusal("bad_request_105", "the request came by way of a proxy")
        if asked.query.get("api-version") not in ("2018-02-01", "2019-08-01", "2021-02-01"):
            return self._refusal("bad_request_101", "Required api-version query parameter not specified")
        resource = asked.query.get("resource", "")
        if not resource.startswith("https://") or resource.endswith("/.default"):
            return self._refusal("invalid_resource", "AADSTS50001: The application named "
                                 f"{resource} was not found in the tenant")
        if asked.query.get("client_id", self.client_id) != self.client_id:
            return self._refusal("invalid_request", "Identity not found")
        return self._old_form(resource)


class AppService(_Entra):
    """learn.microsoft.com/azure/app-service/overview-managed-identity, "REST endpoint reference"."""

    def __init__(self, *arguments, **options):
        self.secret = secrets.token_hex(16).upper()
        super().__init__(*arguments, **options)

    @property
    def environment(self):
        return {"IDENTITY_ENDPOINT": f"{self.url}/msi/token", "IDENTITY_HEADER": self.secret}

    def answer(self, asked):
        if asked.header("X-IDENTITY-HEADER") != self.secret:
            return json_answer({"statusCode": 401, "message": "the header is not right"}, 401)
        if asked.query.get("api-version") != "2019-08-01":
            return json_answer({"statusCode": 400, "message": "api-version must be 2019-08-01"}, 400)
        if not asked.query.get("resource", "").startswith("https://"):
            return json_answer({"statusCode": 400, "message": "resource must be an address"}, 400)
        return self._old_form(asked.query["resource"])


class AzureAuthority(_Entra):
    """Entra's token endpoint, for a client that has a federated token or a secret.

    learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow, and
    azure.github.io/azure-workload-identity/docs for the variables.
    """

    def __init__(self, *arguments, **options):
        self.cluster = Key()  # of the Kubernetes whose tokens it takes
        self.secret = secrets.token_urlsafe(20)
        super().__init__(*arguments, **options)

    def federated_token(self, lifetime=3600, audience=AZURE_AUDIENCE):
        """As Kubernetes writes it into AZURE_FEDERATED_TOKEN_FILE."""
        now = int(time.time())
        return self.cluster.jwt(iss="https://oidc.aks.example/", sub="system:serviceaccount:default:walpost",
                                aud=[audience], iat=now, exp=now + lifetime)

    @property
    def environment(self):
        """Beside it AZURE_FEDERATED_TOKEN_FILE or AZURE_CLIENT_SECRET is wanted."""
        return {"AZURE_AUTHORITY_HOST": f"{self.url}/", "AZURE_TENANT_ID": TENANT, "AZURE_CLIENT_ID": self.client_id}

    def answer(self, asked):
        form = asked.form
        if asked.method != "POST" or asked.path != f"/{TENANT}/oauth2/v2.0/token":
            return self._refusal("invalid_request", "AADSTS900023: no such tenant or page")
        if form.get("grant_type") != "client_credentials":
            return self._refusal("unsupported_grant_type", "AADSTS70003: The app requested an unsupported grant type")
        if form.get("client_id") != self.client_id:
            return self._refusal("unauthorized_client", "AADSTS700016: Application was not found in the directory")
        why = self._refuses(form)
        if why:
            return self._refusal("invalid_client", why, 401)
        scope = form.get("scope", "")
        if not scope.endswith("/.default") or not scope.startswith("https://"):
            return self._refusal("invalid_scope", "AADSTS70011: The provided value for the input parameter 'scope' is "
                                 f"not valid: {scope}")
        return json_answer({"token_type": "Bearer", "expires_in": self.lifetime, "ext_expires_in": self.lifetime,
                            "access_token": self._token(scope.removesuffix("/.default"))})

    def _refuses(self, form):
        if "client_secret" in form:
            return None if form["client_secret"] == self.secret else "AADSTS7000215: Invalid client secret provided"
        if form.get("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer":
            return "AADSTS7000216: 'client_assertion' or 'client_secret' is required"
        try:
            claims_of(form.get("client_assertion", ""), self.cluster, audience=AZURE_AUDIENCE)
        except BadToken as why:
            return f"AADSTS700024: Client assertion is not valid: {why}"
        return None


class _Google(Endpoint):
    """Gives opaque access tokens, of which it remembers until when and for whom they are good."""

    def __init__(self, lifetime=3600, **options):
        self.lifetime = lifetime
        self.email = "walpost@project.iam.gserviceaccount.com"
        self.good = {}  # token: (email, end)
        super().__init__(**options)

    def _tokens(self):
        token = "ya29." + secrets.token_urlsafe(60)
        self.good[token] = self.email, time.time() + self.lifetime
        return json_answer({"access_token": token, "expires_in": self.lifetime, "token_type": "Bearer"})

    @property
    def given(self):
        return list(self.good)

    def forget_tokens(self):
        self.good.clear()


class GoogleMetadata(_Google):
    """cloud.google.com/compute/docs/metadata/querying-metadata and .../access/authenticate-workloads"""

    @property
    def environment(self):
        return {"GCE_METADATA_HOST": f"127.0.0.1:{self.port}"}

    def answer(self, asked):
        if asked.header("Metadata-Flavor") != "Google" or asked.header("X-Forwarded-For") is not None:
            return Answer(403, b"Your client does not have permission to get this URL from this server. "
                          b"Missing Metadata-Flavor:Google header.", {"Metadata-Flavor": "Google"})
        made = self._read(asked.path)
        made.headers["Metadata-Flavor"] = "Google"
        return made

    def _read(self, path):
        match = re.fullmatch(r"/computeMetadata/v1/instance/service-accounts/([^/]+)/(token|email)", path)
        if match is None or match[1] not in ("default", self.email):
            return Answer(404)
        return self._tokens() if match[2] == "token" else Answer(200, self.email.encode())


class GoogleTokens(_Google):
    """The token endpoint that a service account's file names.

    developers.google.com/identity/protocols/oauth2/service-account#httprest
    """

    def __init__(self, *arguments, **options):
        self.key = Key()
        super().__init__(*arguments, **options)

    def service_account(self):
        """What stands in the file that GOOGLE_APPLICATION_CREDENTIALS names."""
        return {"type": "service_account", "project_id": "project", "private_key_id": self.key.id,
                "private_key": self.key.pem, "client_email": self.email, "client_id": "100000000000000000001",
                "auth_uri": f"{self.url}/auth", "token_uri": f"{self.url}/token",
                "universe_domain": "googleapis.com"}

    def answer(self, asked):
        form = asked.form
        if asked.method != "POST" or asked.path != "/token":
            return json_answer({"error": "not_found"}, 404)
        if form.get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer":
            return json_answer({"error": "unsupported_grant_type",
                                "error_description": f"Invalid grant_type: {form.get('grant_type')}"}, 400)
        try:
            claims = claims_of(form.get("assertion", ""), self.key, audience=f"{self.url}/token")
        except BadToken as why:
            return json_answer({"error": "invalid_grant", "error_description": f"Invalid JWT: {why}"}, 400)
        if claims.get("iss") != self.email:
            return json_answer({"error": "invalid_grant", "error_description": "Invalid issuer"}, 400)
        if not isinstance(claims.get("iat"), int) or claims["exp"] - claims["iat"] > 3600:
            return json_answer({"error": "invalid_grant", "error_description": "Invalid JWT: Token must be a "
                                "short-lived token (60 minutes) and in a reasonable timeframe"}, 400)
        if "googleapis.com/auth/" not in claims.get("scope", ""):
            return json_answer({"error": "invalid_scope", "error_description": "Empty or missing scope not allowed."},
                               400)
        return self._tokens()


class Oidc(Endpoint):
    """An identity provider of one's own: a client's credentials for a token (RFC 6749, 4.4), and its keys."""

    def __init__(self, lifetime=3600, audience="kafka", **options):
        self.lifetime = lifetime
        self.audience = audience
        self.client_id, self.secret = "walpost client", "it's a+secret/%41:&="  # both are encoded by RFC 6749, 2.3.1
        self.scope = "kafka.write"
        self.key = Key()
        self.given = []
        super().__init__(**options)

    @property
    def token_url(self):
        return f"{self.url}/token"

    @property
    def jwks_url(self):
        return f"{self.url}/jwks"

    def token(self, **changes):
        now = int(time.time())
        return self.key.jwt(**{"iss": self.url, "aud": self.audience, "sub": "walpost", "scope": self.scope,
                               "iat": now, "exp": now + self.lifetime, **changes})

    def answer(self, asked):
        if (asked.method, asked.path) == ("GET", "/jwks"):
            return json_answer({"keys": [self.key.jwk()]})
        if (asked.method, asked.path) != ("POST", "/token"):
            return json_answer({"error": "not_found"}, 404)
        form = asked.form
        if self._client(asked) != (self.client_id, self.secret):
            return json_answer({"error": "invalid_client", "error_description": "Client authentication failed"}, 401,
                               **{"WWW-Authenticate": "Basic"})
        if form.get("grant_type") != "client_credentials":
            return json_answer({"error": "unsupported_grant_type"}, 400)
        if form.get("scope", self.scope) != self.scope:
            return json_answer({"error": "invalid_scope", "error_description": f"not {form['scope']}"}, 400)
        token = self.token()
        self.given.append(token)
        return json_answer({"access_token": token, "token_type": "Bearer", "expires_in": self.lifetime,
                            "scope": self.scope}, **{"Cache-Control": "no-store"})

    @staticmethod
    def _client(asked):
        kind, _, encoded = (asked.header("Authorization") or "").partition(" ")
        if kind.lower() != "basic":
            return None
        name, _, secret = base64.b64decode(encoded).decode().partition(":")
        return unquote(name.replace("+", " ")), unquote(secret.replace("+", " "))
