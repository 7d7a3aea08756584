import type { SharedReport } from '../../inference/benchmark/shared-report.ts'
import { Failure } from '../failure.ts'
import type { Session } from '../session.ts'

/** The address that the report will be sent to, or the reason why it will not be sent. */
export type Sharing = { readonly to: string } | { readonly not: string }

export const sharingOf = async (
  session: Session,
  { local, apiBase }: { readonly local?: true | undefined; readonly apiBase?: string | undefined },
): Promise<Sharing> => {
  if (local) return { not: '--local' }
  const base = await session.apiBase(apiBase)
  return (await session.apiKey(base)) === null ? { not: 'there is no API key: svc login' } : { to: base }
}

/** Prints every field with its value, then sends exactly these. A failed send is not an error: the benchmark succeeded. */
export const shareBenchmark = async (session: Session, to: string, report: SharedReport): Promise<boolean> => {
  const { out } = session
  out.note(`Sending exactly this to ${to} (turn off with --local):`)
  for (const [name, value] of Object.entries(report)) out.note(`  ${name}: ${JSON.stringify(value)}`)
  try {
    const connection = await session.signedIn({ apiBase: to })
    await connection.request((client) => client.POST('/api/v1/benchmarks', { body: report }))
    return true
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    out.note(`Sharing failed: ${error.message}`)
    return false
  }
}
