import { timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Failure } from '../failure.ts'

/** The final page in the browser. `message` is our own text, never taken from a request. */
const callbackPage = (title: string, message: string): string => `<!doctype html>
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

const PATH = '/callback'

export interface Callback {
  readonly redirectUri: string
  /** The code from the browser. Rejects with a Failure if the state belongs to another login, or the login was refused. */
  readonly code: Promise<string>
  /** Shows the outcome in the browser and stops listening. */
  finish(outcome: 'signed-in' | 'failed'): Promise<void>
}

const sameText = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

const addressOf = (target: string): URL | null =>
  URL.canParse(target, 'http://127.0.0.1') ? new URL(target, 'http://127.0.0.1') : null

const send = async (response: ServerResponse, status: number, title: string, message: string): Promise<void> => {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    // This page's address contains the code.
    'referrer-policy': 'no-referrer',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    connection: 'close',
  })
  if (response.closed) return
  const gone = once(response, 'close')
  response.end(callbackPage(title, message))
  await gone
}

/** Listens on a random loopback port for the callback of one browser login (RFC 8252, section 7.3). */
export const openCallback = async (state: string): Promise<Callback> => {
  let waiting: ServerResponse | null = null
  let settle: { resolve: (code: string) => void; reject: (error: Failure) => void } | null = null
  const code = new Promise<string>((resolve, reject) => {
    settle = { resolve, reject }
  })
  // Avoids an unhandled rejection; a later `await` still gets the error.
  code.catch(() => undefined)

  const refuse = (response: ServerResponse, message: string, failure: Failure): void => {
    const reject = settle?.reject
    settle = null
    // Sends the page first: the caller stops the server when it gets the failure.
    void send(response, 400, 'Not signed in', message).finally(() => reject?.(failure))
  }

  const server = createServer((request, response) => {
    const url = addressOf(request.url ?? '/')
    if (request.method !== 'GET' || url?.pathname !== PATH) {
      return void send(response, 404, 'Not found', 'This address is only for completing svc login.')
    }
    if (settle === null)
      return void send(response, 400, 'Too late', 'This sign-in has ended. Start again with svc login.')
    if (!sameText(url.searchParams.get('state') ?? '', state)) {
      const failure = new Failure('The browser returned the state of another sign-in. Nothing was stored.', {
        advice: 'Unless you opened an old tab, someone else may have sent it. Start again with: svc login',
      })
      return refuse(response, 'This page does not belong to the sign-in that svc is waiting for.', failure)
    }
    const given = url.searchParams.get('code')
    if (given === null || given === '') {
      const failure = new Failure('The sign-in was not approved in the browser.', {
        advice: 'Start again with: svc login',
      })
      return refuse(response, 'The sign-in was not approved.', failure)
    }
    waiting = response
    settle.resolve(given)
    settle = null
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    redirectUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}${PATH}`,
    code,
    async finish(outcome) {
      settle = null
      if (waiting !== null && outcome === 'signed-in') {
        await send(waiting, 200, 'Signed in', 'The command line is signed in. You can close this page.')
      } else if (waiting !== null) {
        await send(
          waiting,
          502,
          'Not signed in',
          'The sign-in could not be completed. See the terminal for the reason.',
        )
      }
      server.close()
      // Browsers open spare connections that never carry a request.
      server.closeAllConnections()
    },
  }
}
