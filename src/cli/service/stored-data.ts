import { DATABASE_ADVICE } from '../../domain/backup-summary.ts'
import { timeWords } from '../resources/cells.ts'
import type { Session } from '../session.ts'
import { type Finding, fail, ok, warn } from './finding.ts'

const TIMEOUT_MS = 5000
const OLD_MS = 48 * 60 * 60 * 1000
const SHOWN = 3

/** Reports damaged files and backups, as far as the key allows. */
export const storedData = async (session: Session, baseUrl: string): Promise<readonly Finding[]> => {
  const found = await session.apiKey(baseUrl)
  if (found === null) return []
  const { client } = session.connectTo({ baseUrl, apiKey: found.key, timeoutMs: TIMEOUT_MS })
  const findings: Finding[] = []
  const files = await client.GET('/api/v1/storage/damaged-files').catch(() => null)
  if (files?.data !== undefined) {
    const { files: damaged, stored_files: stored, oldest_check_at: since } = files.data
    const names = damaged.slice(0, SHOWN).map(({ sha256, versions, damage }) => {
      const [version] = versions
      return `${sha256.slice(0, 12)}${version === undefined ? '' : ` (model ${version.model_id}, version ${version.version})`}: ${damage}`
    })
    findings.push(
      damaged.length > 0
        ? fail(
            'Files',
            `${damaged.length} of ${stored} are damaged: ${names.join(' ')}`,
            'If SERVICE_BACKUP_URL is set, they are restored automatically from a backup that contains them. Otherwise upload them again.',
          )
        : ok('Files', `${stored} stored${since === null ? '' : `, all hashed since ${timeWords(since)}`}`),
    )
  }
  const backups = await client.GET('/api/v1/backups').catch(() => null)
  if (backups?.data !== undefined) {
    const [latest] = backups.data.backups
    const last = backups.data.backups.find(({ status }) => status === 'completed')
    const isOld = last === undefined || Math.abs(session.now().getTime() - Date.parse(last.created_at)) > OLD_MS
    const lacksDatabase = last?.database === 'none'
    const where = last === undefined ? 'none' : `${timeWords(last.created_at)} in ${last.target}`
    const found = `${where}${lacksDatabase ? ', without the database' : ''}`
    const advice = [
      ...(latest?.status === 'failed' ? [`The latest attempt failed: ${latest.reason}`] : []),
      ...(isOld ? ['Create one with: svc backup <folder>. Scheduled ones need SERVICE_BACKUP_URL.'] : []),
      ...(lacksDatabase ? [`To include the database, ${DATABASE_ADVICE}`] : []),
    ]
    findings.push(advice.length > 0 ? warn('Backup', found, advice.join(' ')) : ok('Backup', found))
  }
  return findings
}
