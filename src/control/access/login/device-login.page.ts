import { hashOf, STYLE } from '../../../platform/http/page-style.ts'
import { FIND_SESSION, KEY_FIELD } from './login.page.ts'

const DEVICE_STYLE = `${STYLE}
  #code { font: 1.5rem/1.5 ui-monospace, monospace; letter-spacing: .1em; text-transform: uppercase; }
  dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem; }
  dd { margin: 0; overflow-wrap: anywhere; }
  .warning { border-left: 4px solid #c0392b; padding-left: .75rem; }
`

const DEVICE_SCRIPT = `
  const one = (id) => document.getElementById(id)
  const code = one('code')
  const problem = one('problem')
  // Removed from the address at once, because the code works for one sign-in.
  const query = location.search
  code.value = new URLSearchParams(query).get('user_code') ?? ''
  history.replaceState(null, '', location.pathname)
  ${FIND_SESSION}
  const send = async (path, body) => {
    await asked
    const key = one('key')?.value.trim()
    const answer = await fetch('/api/v1/login/device/' + path, {
      method: 'POST',
      credentials: session === null ? 'omit' : 'same-origin',
      headers: { 'content-type': 'application/json', ...(key ? { authorization: 'Bearer ' + key } : {}) },
      body: JSON.stringify(body),
    })
    const answered = await answer.json()
    if (!answer.ok) throw new Error(answered.message)
    return answered
  }
  // A second click would send a code that is already used.
  const attempt = async (work) => {
    const buttons = [...document.querySelectorAll('button')]
    for (const button of buttons) button.disabled = true
    problem.textContent = ''
    try {
      await work()
    } catch (error) {
      problem.textContent = error instanceof TypeError ? 'The service does not respond. Make sure that it is running, then try again.' : error.message
    }
    for (const button of buttons) button.disabled = false
  }
  one('form').addEventListener('submit', (event) => {
    event.preventDefault()
    void attempt(async () => {
      const found = await send('request', { user_code: code.value })
      one('client').textContent = found.client_name
      one('address').textContent = found.address
      one('since').textContent = new Date(found.created_at).toLocaleTimeString()
      one('shown').textContent = code.value.toUpperCase()
      one('form').hidden = true
      one('request').hidden = false
      one('approve').focus()
    })
  })
  const decide = (approve) => attempt(async () => {
    await send('decision', { user_code: code.value, approve })
    one('request').hidden = true
    one('title').textContent = approve ? 'Signed in' : 'Denied'
    one('end').textContent = approve ? 'The program is signed in. You can close this page.' : 'The program was not signed in. You can close this page.'
    one('end').hidden = false
  })
  one('approve').addEventListener('click', () => decide(true))
  one('deny').addEventListener('click', () => decide(false))
`

/** What the page may load: its own style and script, by their hashes. */
export const DEVICE_LOGIN_PAGE_POLICY =
  `default-src 'none'; style-src ${hashOf(DEVICE_STYLE)}; script-src ${hashOf(DEVICE_SCRIPT)}; connect-src 'self'; ` +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The page on which a person types the code of `svc login --no-browser`. It uses the API like any other client. */
export const deviceLoginPage = (needsKey: boolean): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in a program to Tributary</title>
<style>${DEVICE_STYLE}</style>
<main>
  <h1 id="title">Sign in a program with a code</h1>
  <p id="who" hidden></p>
  <form id="form">
    <label for="code">The code that the program shows</label>
    <input id="code" autocomplete="off" autocapitalize="characters" spellcheck="false" required maxlength="20"
      placeholder="XXXX-XXXX">
    ${needsKey ? KEY_FIELD : ''}
    <button type="submit">Continue</button>
  </form>
  <section id="request" hidden>
    <dl>
      <dt>Program</dt><dd id="client"></dd>
      <dt>Address</dt><dd id="address"></dd>
      <dt>Requested at</dt><dd id="since"></dd>
      <dt>Code</dt><dd id="shown"></dd>
    </dl>
    <p class="warning">Approve only if you have just started this program yourself and it shows this code. If somebody sent you
      the code or a link, deny it: they would get your access.</p>
    <button id="approve" type="button">Approve</button>
    <button id="deny" type="button">Deny</button>
  </section>
  <p id="end" role="status" hidden></p>
  <p id="problem" role="alert"></p>
</main>
<script>${DEVICE_SCRIPT}</script>
</html>
`
