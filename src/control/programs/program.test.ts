import { expect, it, vi } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { onServer, runService } from '../../../test/e2e/service-process.ts'
import { runProgram } from './program.ts'

it('arguments that name no program are refused instead of starting the service', async () => {
  const printed = vi.spyOn(console, 'error').mockReturnValue()
  for (const name of ['--help', '--port', 'constructor']) {
    expect(await runProgram([name, '9000'])).toBe(2)
    expect(printed).toHaveBeenLastCalledWith(
      `Unknown argument '${name}'. Use environment variables, such as SERVICE_PORT, or start with options: svc up.`,
    )
  }
  expect(await runProgram([])).toBeNull()
  printed.mockRestore()
})

it('a service that listens on all addresses says so', async () => {
  const settings = { ...(await onServer()), SERVICE_HOST: '0.0.0.0', SERVICE_ENROLLMENT: 'open' }
  const service = await runService(await emptyFolder(), settings)
  await expect.poll(service.output).toContain('anyone who can reach this service can register devices')
  expect(service.output()).toContain(`listening on ${service.baseUrl} and this machine's other addresses (API: `)
  await service.kill()
})
