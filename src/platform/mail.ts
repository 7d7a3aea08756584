import { Socket } from 'node:net'

const TIMEOUT_MS = 10_000

export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** `failed: …` contains the server's message. */
export type MailResult = 'sent' | 'off' | `failed: ${string}`

/** Sends mail through SERVICE_SMTP_URL; without it, returns 'off'. Takes at most `timeoutMs`, and never throws. */
export const createMailer = (
  settings: { readonly url: string; readonly from: string } | null,
  timeoutMs = TIMEOUT_MS,
) => {
  const deliver = async (url: string, from: string, { to, subject, text }: Mail): Promise<void> => {
    const { createTransport } = await import('nodemailer')
    const limits = { connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs }
    // These limits restart with each line from the server; only destroying the socket limits the total time.
    const socket = new Socket()
    let deadline: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      deadline = setTimeout(() => {
        socket.destroy()
        reject(new Error(`the mail server took longer than ${timeoutMs / 1000} s`))
      }, timeoutMs)
    })
    // Files or addresses named in a text are not read. Passwords are never sent unencrypted, whatever the server offers.
    const requireTLS = new URL(url).password !== ''
    const transport = createTransport({
      url,
      socket,
      requireTLS,
      ...limits,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    // As an object, so that nothing in the address is parsed as a second one.
    const sent = transport.sendMail({ from, to: { name: '', address: to }, subject, text })
    await Promise.race([sent, late]).finally(() => clearTimeout(deadline))
  }
  return {
    async send(mail: Mail): Promise<MailResult> {
      if (settings === null) return 'off'
      try {
        await deliver(settings.url, settings.from, mail)
        return 'sent'
      } catch (error) {
        // The message comes from an untrusted program and is shown on terminals.
        return `failed: ${(error as Error).message.replace(/[\p{C}\s]+/gu, ' ').slice(0, 300)}`
      }
    },
  }
}

export type Mailer = ReturnType<typeof createMailer>
