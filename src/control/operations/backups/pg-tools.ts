import { spawn } from 'node:child_process'
import { ServiceError } from '../../../domain/errors.ts'

/** Others, such as statement_timeout, are for the service's driver: libpq refuses what it does not know. */
const OF_LIBPQ = new Set(
  (
    'host hostaddr port dbname user passfile service connect_timeout application_name options client_encoding channel_binding ' +
    'target_session_attrs keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout gssencmode krbsrvname ' +
    'requirepeer ssl sslmode sslcert sslkey sslrootcert sslcrl sslcrldir sslsni sslnegotiation ssl_min_protocol_version ' +
    'ssl_max_protocol_version'
  ).split(' '),
)

/** Returns the URL without its password, and the environment with it: every user of the machine can read arguments. */
const connectionOf = (databaseUrl: string): { url: string; env: NodeJS.ProcessEnv } => {
  const url = new URL(databaseUrl)
  const password = url.searchParams.get('password') || decodeURIComponent(url.password)
  url.password = ''
  // As text: searchParams would write spaces as +, which libpq does not read.
  url.search = url.search
    .slice(1)
    .split('&')
    .filter((parameter) => OF_LIBPQ.has(parameter.split('=', 1)[0]!))
    // What only the service's driver knows. libpq's `require` does not verify the certificate either.
    .map((parameter) => (parameter === 'sslmode=no-verify' ? 'sslmode=require' : parameter))
    .join('&')
  return { url: url.href, env: { ...process.env, ...(password !== '' && { PGPASSWORD: password }) } }
}

/** @returns null if the program is not installed. @throws ServiceError with its output */
const run = async (program: string, argv: readonly string[], env: NodeJS.ProcessEnv, signal?: AbortSignal) => {
  const child = spawn(program, argv, { env, stdio: ['ignore', 'ignore', 'pipe'], ...(signal && { signal }) })
  let words = ''
  child.stderr.on('data', (bytes) => (words = `${words}${bytes}`.slice(-2000)))
  const code = await new Promise<number | null>((done, fail) => {
    child.once('close', done)
    child.once('error', (error: NodeJS.ErrnoException) => (error.code === 'ENOENT' ? done(null) : fail(error)))
  })
  if (child.pid === undefined) return null
  if (code !== 0)
    throw new ServiceError(
      'internal_error',
      `${program} failed: ${words.trim().replaceAll(/\s*\n\s*/g, ' ') || `exit code ${code}`}`,
    )
  return true
}

/** Dumps the database of a server to `file` with this machine's pg_dump; null if there is none. */
export const dumpServer = (databaseUrl: string, file: string, signal: AbortSignal): Promise<true | null> => {
  const { url, env } = connectionOf(databaseUrl)
  return run('pg_dump', ['--format=custom', '--no-owner', '--no-acl', `--file=${file}`, `--dbname=${url}`], env, signal)
}

/** Restores such a dump completely or not at all; null if pg_restore is not on this machine. */
export const restoreServer = (databaseUrl: string, file: string): Promise<true | null> => {
  const { url, env } = connectionOf(databaseUrl)
  const options = ['--single-transaction', '--exit-on-error', '--no-owner', '--no-acl']
  return run('pg_restore', [...options, `--dbname=${url}`, file], env)
}
