import { displayCode, typedCode } from '../../../domain/pairing.ts'

/** Returns the page for a phone that scanned the QR code: the code, and where to enter it; null if the code is not valid. */
export const pairingPage = (text: string | null): string => {
  // Only a valid code is repeated, so that no other text in a link gets onto the page.
  const code = text === null ? null : typedCode(text)
  const body =
    code === null
      ? '<p>This pairing code does not exist, was used already, or has expired. Ask for a new one.</p>'
      : `<p>Enter this code in the app on this device. It works once, for five minutes.</p>
<strong>${displayCode(code)}</strong>
<p>On a computer: <code>svc pair ${displayCode(code)}</code></p>`
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
<main>
<h1>Pair this device</h1>
${body}
</main>
</html>
`
}
