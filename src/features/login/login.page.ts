/** The page on which a person approves `svc login`. It talks to the API like any other client. */
export const loginPage = (needsKey: boolean): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in to Tributary</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { display: grid; place-items: center; min-height: 90vh; margin: 0; }
  main { width: min(26rem, 90vw); }
  h1 { font-size: 1.4rem; margin: 0 0 .5rem; }
  label { display: block; margin: 1rem 0 .25rem; }
  input { width: 100%; box-sizing: border-box; font: inherit; padding: .5rem; }
  button { font: inherit; margin-top: 1rem; padding: .5rem 1.25rem; cursor: pointer; }
  #problem { color: #c0392b; min-height: 1.5em; }
</style>
<main>
  <h1>Sign in the command line?</h1>
  <p>The program <b>svc</b> on this computer asks for a key to this service. Approve only if you have just started
    <code>svc login</code> yourself.</p>
  <form id="form">
    ${needsKey ? '<label for="key">Your API key</label><input id="key" type="password" autocomplete="off" required>' : ''}
    <button type="submit">Approve</button>
    <p id="problem" role="alert"></p>
  </form>
</main>
<script>
  const query = new URLSearchParams(location.search)
  document.getElementById('form').addEventListener('submit', async (event) => {
    event.preventDefault()
    const key = document.getElementById('key')?.value.trim()
    const answer = await fetch('/api/v1/login/authorize', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key ? { authorization: 'Bearer ' + key } : {}) },
      body: JSON.stringify({
        code_challenge: query.get('code_challenge') ?? '',
        redirect_uri: query.get('redirect_uri') ?? '',
        state: query.get('state') ?? '',
      }),
    })
    const body = await answer.json()
    if (answer.ok) location.assign(body.redirect_to)
    else document.getElementById('problem').textContent = body.message
  })
</script>
</html>
`
