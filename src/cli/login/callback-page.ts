/** What the browser shows at the end. `message` is ours, never what a request said. */
export const callbackPage = (title: string, message: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { display: grid; place-items: center; min-height: 90vh; margin: 0; }
  main { width: min(26rem, 90vw); }
  h1 { font-size: 1.4rem; margin: 0 0 .5rem; }
</style>
<main>
  <h1>${title}</h1>
  <p>${message}</p>
</main>
</html>
`
