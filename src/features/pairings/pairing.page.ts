import { shownCode, typedCode } from '../../domain/pairing.ts'

/** What a phone shows that has scanned the QR code: the code, and where it is to be entered. */
export const pairingPage = (text: string): string => {
  // Only what can be a code is repeated, so nothing that somebody put into a link gets onto the page.
  const code = typedCode(text)
  const shown = code === null ? 'This link carries no pairing code.' : shownCode(code)
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Pair this device</title>
<style>
  body { font: 18px/1.5 system-ui, sans-serif; max-width: 30rem; margin: 3rem auto; padding: 0 1rem; }
  strong { display: block; font: 700 2.2rem ui-monospace, monospace; letter-spacing: .08em; margin: 1rem 0; }
  code { background: #8882; padding: .1em .3em; border-radius: .2em; }
</style>
<h1>Pair this device</h1>
<p>Enter this code in the app on this device. It works once, for five minutes.</p>
<strong>${shown}</strong>
<p>On a computer: <code>svc pair ${code === null ? '&lt;code&gt;' : shown}</code></p>
</html>
`
}
