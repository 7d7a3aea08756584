import { hashOf, STYLE } from '../../../platform/http/page-style.ts'

// The pattern excludes characters that no header can hold, such as the ellipsis of a shortened key.
export const KEY_FIELD = `<div id="with-key"><label for="key">Your API key</label>
    <input id="key" type="password" autocomplete="off" required
      pattern="\\s*sk_live_[0-9A-Za-z]{32}\\s*" title="The full key: sk_live_ followed by 32 letters or digits.">
    <p>Or <a id="sign-in" href="/">sign in</a> another way first.</p></div>`

/** Shows who is signed in: their session approves with one click. Await `asked` first. A sign-in restores `query`. */
export const FIND_SESSION = `
  let session = null
  const offer = () => {
    const link = document.getElementById('sign-in')
    if (link) link.href = '/?next=' + encodeURIComponent(location.pathname + query)
  }
  const asked = fetch('/api/v1/session').then((answer) => answer.json()).then((found) => {
    const name = found.person?.email ?? (found.key_name === null ? null : 'the key "' + found.key_name + '"')
    if (!found.signed_in || name === null) return offer()
    session = found
    const who = document.getElementById('who')
    who.textContent = 'You are signed in ' + (found.person ? 'as ' : 'with ') + name + (found.org_id === null ? '.' : ' of ' + found.org_id + '.')
    who.hidden = false
    document.getElementById('with-key')?.remove()
  }).catch(() => undefined)
`

const SCRIPT = `
  const query = location.search
  const asks = new URLSearchParams(query)
  const button = document.querySelector('button')
  const problem = document.getElementById('problem')
  ${FIND_SESSION}
  const authorize = async (key) => {
    const answer = await fetch('/api/v1/login/authorize', {
      method: 'POST',
      // An expired session must not prevent the use of a key.
      credentials: session === null ? 'omit' : 'same-origin',
      headers: { 'content-type': 'application/json', ...(key ? { authorization: 'Bearer ' + key } : {}) },
      body: JSON.stringify({
        code_challenge: asks.get('code_challenge') ?? '',
        redirect_uri: asks.get('redirect_uri') ?? '',
        state: asks.get('state') ?? '',
      }),
    })
    return { ok: answer.ok, body: await answer.json() }
  }
  document.getElementById('form').addEventListener('submit', async (event) => {
    event.preventDefault()
    // A second click would send a second code to a login that the first one ends.
    button.disabled = true
    problem.textContent = ''
    try {
      await asked
      const { ok, body } = await authorize(document.getElementById('key')?.value.trim())
      if (ok) return location.assign(body.redirect_to)
      problem.textContent = body.message
    } catch {
      problem.textContent = 'The service does not respond. Make sure that it is running, then approve again.'
    }
    button.disabled = false
  })
`

/** What the page may load: its own style and script, by their hashes. */
export const LOGIN_PAGE_POLICY =
  `default-src 'none'; style-src ${hashOf(STYLE)}; script-src ${hashOf(SCRIPT)}; connect-src 'self'; ` +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The page on which a person approves `svc login`. It uses the API like any other client. */
export const loginPage = (needsKey: boolean): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in to Tributary</title>
<style>${STYLE}</style>
<main>
  <h1>Sign in the command line?</h1>
  <p>The program <b>svc</b> on this computer asks for a key to this service. Approve only if you have just started
    <code>svc login</code> yourself.</p>
  <p id="who" hidden></p>
  <form id="form">
    ${needsKey ? KEY_FIELD : ''}
    <button type="submit">Approve</button>
    <p id="problem" role="alert"></p>
  </form>
</main>
<script>${SCRIPT}</script>
</html>
`
