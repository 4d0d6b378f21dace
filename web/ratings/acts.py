"""Actions of an owner on a rating: publish, withdraw, re-rate by another methodology, reply."""

from starlette.responses import Response

from web.frame import Pages, Visit
from web.ratings.pages import reply
from web.ratings.rating import rating_in_path, render_page

pages = Pages()

RATING = "/ratings/{rating_id}"
WAIT_S = 10
"""Maximum time in seconds that the page waits for a re-rating, which makes no call and usually takes less."""

VISIBILITY, ANSWER = f"{RATING}/visibility", f"{RATING}/reply/answer"
pages.act(VISIBILITY, "jobs:write", "POST", f"/v1{VISIBILITY}", RATING, fields=["visibility"])
# the public answer of the requester or the operator to the owner's reply
pages.act(f"{RATING}/answer", "jobs:write", "PUT", f"/v1{ANSWER}", f"{RATING}/reply", fields=["text"], form_page=reply)


@pages.get(RATING + "/withdraw")
async def ask_withdrawal(visit: Visit) -> Response:
    """Show the form that withdraws a rating: it asks for a reason and, as confirmation, the name of the service."""
    return render_page(visit, await rating_in_path(visit), "withdraw", wrong={}, reason="", name="")


@pages.post(RATING + "/withdraw", "jobs:write")
async def withdraw(visit: Visit) -> Response:
    """Withdraw the rating, if the form has a reason and the correct name of the service."""
    rating, texts = await rating_in_path(visit), visit.typed
    reason, name = texts.get("reason", "").strip(), texts.get("name", "").strip()
    messages = {} if reason else {"reason": "Write what readers of the rating should know."}
    if name != str(rating.rated.target.name).strip():
        messages["name"] = "This is not the name of the service."
    if messages:
        return render_page(visit, rating, "withdraw", wrong=messages, reason=reason, name=name)
    await visit.api.ask("POST", f"/v1/ratings/{rating.id}/withdraw", body={"reason": reason})
    return visit.redirect(rating.base)


@pages.post(RATING + "/rerate", "jobs:write")
async def rerate(visit: Visit) -> Response:
    """Rate the recorded evidence by another version of the methodology; no question is asked again."""
    rating_id = visit.path("rating_id")
    body = {"version": visit.typed.get("version", "")}
    job = await visit.api.post(f"/v1/ratings/{rating_id}/rerate", body, Prefer=f"wait={WAIT_S}")
    return visit.redirect(f"/ratings/{rating_id}/provenance" if job["status"] == "succeeded" else f"/jobs/{job['id']}")


@pages.post(RATING + "/reply", "targets:write", form_page=reply)
async def put_reply(visit: Visit) -> Response:
    """Store the reply of the service's owner to a rating, or remove it if the form asks for that."""
    texts, path = visit.typed, f"/ratings/{visit.path('rating_id')}/reply"
    if texts.get("act") == "remove":
        await visit.api.ask("DELETE", f"/v1{path}")
    else:
        link, objects = texts.get("link", "").strip() or None, texts.get("objects") == "true"
        body = {"text": texts.get("text", "").strip(), "link": link, "objects": objects}
        await visit.api.ask("PUT", f"/v1{path}", body=body)
    return visit.redirect(path)
