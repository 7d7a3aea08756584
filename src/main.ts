import { ConfigError, readConfig } from './config.ts'
import { createControlPlane } from './control/app.ts'
import { runProgram } from './control/programs/program.ts'
import { limitAdvice } from './control/resource-limits.ts'
import { asDatabaseAway } from './domain/outages.ts'
import { asDenied } from './platform/db/embedded/open-embedded.ts'
import { StartError } from './platform/db/start-error.ts'
import { CertificateError } from './platform/http/certificate.ts'
import { STOP } from './platform/threads/ask-to-end.ts'
import { ProxyError, sendThroughProxy } from './platform/transfer/proxy.ts'

const IMPATIENCE_MS = 1000
const MAX_STOP_MS = 60_000

const stop = (message: string): never => {
  console.error(message)
  process.exit(1)
}

const start = async (): Promise<void> => {
  const config = readConfig(process.env)
  await sendThroughProxy(process.env)
  const service = await createControlPlane(config, {
    onFatal: (error) => stop(`The service cannot continue: ${error.message}`),
  }).catch(async (error: unknown) => {
    throw (await asDenied(error, config.dataDir)) ?? error
  })
  const address = await service.app.listen({ host: config.host, port: config.port })
  const firstAdminKey = await service.createFirstAdminKey()

  const others = config.host === '0.0.0.0' ? " and this machine's other addresses" : ''
  console.log(`Tributary is listening on ${address}${others} (API: /api/v1, documentation: /docs)`)
  console.log(`Data: ${config.dataDir}, database: ${config.databaseUrl === null ? 'embedded' : 'PostgreSQL'}`)
  if (config.enrollment === 'open') {
    console.log('Enrollment is open: anyone who can reach this service can register devices and use the whole API.')
  }
  if (firstAdminKey !== null) {
    console.log(`Admin key, shown this once: ${firstAdminKey}`)
  }

  let stoppingSince: number | null = null
  const shutDown = (signal: string): void => {
    // npm forwards Ctrl-C, so one press can arrive twice. Only a later one is an impatient second press.
    if (stoppingSince !== null && performance.now() - stoppingSince < IMPATIENCE_MS) return
    if (stoppingSince !== null) stop(`${signal} again: stopping at once.`)
    stoppingSince = performance.now()
    console.log(`${signal}: finishing the running requests`)
    // Some work cannot be interrupted, such as a backup to a file system that does not respond.
    const maxMs = config.drainSeconds * 1000 + MAX_STOP_MS
    setTimeout(() => stop('Stopping took more than a minute: stopping at once.'), maxMs).unref()
    service.close().then(
      () => process.exit(0),
      (error: Error) => stop(`Stopping failed: ${error.message}`),
    )
  }
  process.on('SIGTERM', shutDown)
  process.on('SIGINT', shutDown)
  // Programs cannot send signals on Windows.
  process.on('message', (message) => {
    if (message === STOP) shutDown('SIGTERM')
  })
  // `svc up` and the demo start the service in its own process group, with a channel that closes however they end.
  const shutDownAlone = (): void => shutDown('The program that started the service has ended')
  // Nobody reads the output then, or after `npm start | head`.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)
  if (process.connected === false) shutDownAlone()
  process.once('disconnect', shutDownAlone)
}

const main = async (): Promise<void> => {
  const code = await runProgram(process.argv.slice(2))
  if (code === null) return start()
  // Kept-alive connections to a store would keep the process running.
  process.exit(code)
}

main().catch((error: unknown) => {
  const advice = limitAdvice(error)
  if (advice !== null) stop(advice)
  const mistakes = [ConfigError, StartError, CertificateError, ProxyError]
  if (error instanceof Error && mistakes.some((kind) => error instanceof kind)) stop(error.message)
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    stop(`The address is already in use: ${error.message}. Stop the other program, or set SERVICE_PORT.`)
  }
  if (error instanceof Error && 'code' in error && error.code === 'EACCES' && 'port' in error) {
    stop(
      `This user is not allowed to listen on port ${error.port} (${error.message}). Set SERVICE_PORT to 1024 or more.`,
    )
  }
  if (error instanceof Error && 'syscall' in error && ['listen', 'getaddrinfo', 'bind'].includes(`${error.syscall}`)) {
    stop(
      `Cannot listen: ${error.message}. Set SERVICE_HOST to an address of this machine, or SERVICE_PORT to a free port.`,
    )
  }
  if (asDatabaseAway(error) !== undefined) {
    stop(
      `The database stopped responding while the service was starting (${(error as Error).message}). Start it again.`,
    )
  }
  throw error
})
