import { Socket } from 'node:net'

const TIMEOUT_MS = 10_000

export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** `failed: …` contains the server's message. */
export type MailResult = 'sent' | 'off' | `failed: ${string}`

/** Sends mail by SERVICE_SMTP_URL; without it, says that mail is off. Takes at most `timeoutMs`, and never throws. */
export const createMailer = (
  settings: { readonly url: string; readonly from: string } | null,
  timeoutMs = TIMEOUT_MS,
) => {
  const deliver = async (url: string, from: string, { to, subject, text }: Mail): Promise<void> => {
    const { createTransport } = await import('nodemailer')
    const limits = { connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs }
    // Those limits begin anew with each line that the server sends: only the end of the socket bounds them all.
    const socket = new Socket()
    let deadline: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      deadline = setTimeout(() => {
        socket.destroy()
        reject(new Error(`the mail server took longer than ${timeoutMs / 1000} s`))
      }, timeoutMs)
    })
    // No file or address that a text names is read for it.
    // A password is not sent in the clear, however the server asks for it.
    const requireTLS = new URL(url).password !== ''
    const transport = createTransport({
      url,
      socket,
      requireTLS,
      ...limits,
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    // As an object, so that nothing in the address is read as a second one.
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
        // It is shown on terminals, and comes from an untrusted program.
        return `failed: ${(error as Error).message.replace(/[\p{C}\s]+/gu, ' ').slice(0, 300)}`
      }
    },
  }
}

export type Mailer = ReturnType<typeof createMailer>
