import type { Transporter } from 'nodemailer'

const TIMEOUT_MS = 10_000

export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

/** `failed: …` has what the server said. */
export type MailResult = 'sent' | 'off' | `failed: ${string}`

/** Sends mail by SERVICE_SMTP_URL; without it, says that mail is off. Never throws. */
export const createMailer = (settings: { readonly url: string; readonly from: string } | null) => {
  let transport: Promise<Transporter> | null = null
  const connect = async (url: string): Promise<Transporter> => {
    const { createTransport } = await import('nodemailer')
    const limits = { connectionTimeout: TIMEOUT_MS, greetingTimeout: TIMEOUT_MS, socketTimeout: TIMEOUT_MS }
    // No file or address that a text names is read for it.
    return createTransport({ url, ...limits, disableFileAccess: true, disableUrlAccess: true })
  }
  return {
    async send({ to, subject, text }: Mail): Promise<MailResult> {
      if (settings === null) return 'off'
      try {
        transport ??= connect(settings.url)
        // As an object, so that nothing in the address is read as a second one.
        await (await transport).sendMail({ from: settings.from, to: { name: '', address: to }, subject, text })
        return 'sent'
      } catch (error) {
        return `failed: ${(error as Error).message.slice(0, 300)}`
      }
    },
  }
}

export type Mailer = ReturnType<typeof createMailer>
