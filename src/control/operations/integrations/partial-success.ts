import { isObject } from '../../../domain/is-object.ts'
import { jsonOrNull } from '../../../domain/parse-json.ts'
import type { Receiver } from './log-messages.ts'
import { MAX_REASON, type Message, type Outcome, withoutSecrets } from './send.ts'

/** How much of an accepted request an OTLP receiver has rejected, and why; null if it does not report any. */
const partialSuccessIn = (body: string): { readonly rejected: number; readonly reason: string } | null => {
  const response = jsonOrNull(body)
  const partial = isObject(response) ? response.partialSuccess : null
  if (!isObject(partial)) return null
  // OTLP's JSON has 64-bit numbers as text.
  const rejected = Number(partial.rejectedLogRecords ?? partial.rejectedDataPoints ?? 0)
  const reason = String(partial.errorMessage ?? '')
  return rejected > 0 || reason !== '' ? { rejected, reason } : null
}

/**
 * Logs what OTLP receivers reject of accepted requests, once for each cause. It must not be sent again
 * (opentelemetry.io/docs/specs/otlp, "Partial Success").
 */
export const createPartialSuccesses = (log: { warn(fields: object, message: string): void }) => {
  /** What was last logged for each integration. */
  const logged = new Map<string, string>()
  return ({ id, type, format }: Receiver, { headers }: Message, { body }: Outcome): void => {
    const partial = format === 'otlp' || type === 'opentelemetry' ? partialSuccessIn(body) : null
    if (partial === null) return
    const { rejected } = partial
    const reason = withoutSecrets(partial.reason, headers).slice(0, MAX_REASON)
    if (logged.get(id) === reason) return
    logged.set(id, reason)
    const message =
      rejected > 0 ? 'accepted a request but rejected some of its records, which are not sent again' : 'warns'
    log.warn({ integration_id: id, rejected, reason }, `the receiver of an integration ${message}`)
  }
}
