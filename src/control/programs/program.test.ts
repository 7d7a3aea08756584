import { expect, it, vi } from 'vitest'
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
