# Written by write_synchronous.py from asynchronous/webhooks.py.
"""Sends events of sandboxes to a URL that their owner names."""
from __future__ import annotations

from typing import List, Optional

from ..address import segment
from ..fields import request_fields
from ..sandbox_answers import CreatedWebhook, Webhook, WebhookList, WebhookTry
from .session import Session, Request

_LONGEST_TEST_SECONDS = 10.0  # as the server has it


class Webhooks:
    def __init__(self, session: Session) -> None:
        self._session = session

    def create(self, url: str, events: List[str], *, name: Optional[str] = None) -> CreatedWebhook:
        """Makes a webhook. Its `secret` is shown only this once."""
        fields = request_fields(locals())
        return CreatedWebhook.of(self._session.json(Request("POST", "/v1/webhooks", body=fields)))

    def list(self) -> List[Webhook]:
        return WebhookList.of(self._session.json(Request("GET", "/v1/webhooks"))).webhooks

    def get(self, webhook_id: str) -> Webhook:
        return Webhook.of(self._session.json(Request("GET", self._path(webhook_id))))

    def change(self, webhook_id: str, *, url: Optional[str] = None, events: Optional[List[str]] = None,
                     name: Optional[str] = None, enabled: Optional[bool] = None) -> Webhook:
        """Changes the given fields. `enabled` False stops it, True lets it go on."""
        fields = request_fields(locals())
        return Webhook.of(self._session.json(Request("PATCH", self._path(webhook_id), body=fields)))

    def delete(self, webhook_id: str) -> None:
        self._session.done(Request("DELETE", self._path(webhook_id)))

    def replace_secret(self, webhook_id: str, *, previous_seconds: Optional[float] = None) -> CreatedWebhook:
        """Replaces the secret. The former one signs as well for `previous_seconds`, by default a day."""
        fields = request_fields(locals())
        return CreatedWebhook.of(self._session.json(Request("POST", f"{self._path(webhook_id)}/secret", body=fields)))

    def test(self, webhook_id: str) -> WebhookTry:
        """Sends a message of type test once, and returns its outcome."""
        longest = self._session.answer_seconds + _LONGEST_TEST_SECONDS
        return WebhookTry.of(self._session.json(Request("POST", f"{self._path(webhook_id)}/test", answer_seconds=longest)))

    @staticmethod
    def _path(webhook_id: str) -> str:
        return f"/v1/webhooks/{segment(webhook_id)}"
