import { type Command, Option } from 'commander'
import { PLATFORMS, type Platform } from '../../domain/device.ts'
import { typedCode } from '../../domain/pairing.ts'
import { wrongUsage } from '../failure.ts'
import { apiBaseOption, type ServiceOptions } from '../options.ts'
import type { Session } from '../session.ts'

interface PairCommandOptions extends ServiceOptions {
  readonly deviceId: string
  readonly platform: Platform | 'auto'
  readonly deviceName?: string
}

const SYSTEM_PLATFORMS: Readonly<Record<string, Platform>> = { darwin: 'macos', linux: 'linux', win32: 'windows' }

export const define = (command: Command, session: Session): void => {
  command
    .argument('<code>', 'the code shown on the other screen, such as ABCD-2345')
    .option('--device-id <id>', 'name of this device; auto: its current name, or a new one', 'auto')
    .addOption(
      new Option('-p, --platform <platform>', 'platform of the device').choices(['auto', ...PLATFORMS]).default('auto'),
    )
    .option('--device-name <name>', 'a display name')
    .addOption(apiBaseOption())
    .action(async (text: string, { deviceId, platform, deviceName, apiBase }: PairCommandOptions) => {
      const code = typedCode(text)
      if (code === null) throw wrongUsage(`'${text.slice(0, 50)}' is not a pairing code.`, 'Codes look like ABCD-2345.')
      for (const [option, value] of [
        ['--device-id', deviceId],
        ['--device-name', deviceName ?? 'x'],
      ] as const) {
        if (value.trim() === '' || value.length > 255) throw wrongUsage(`${option} must have 1 to 255 characters.`)
      }
      const { pair } = await import('./pair.ts')
      await pair(
        {
          baseUrl: await session.apiBase(apiBase),
          code,
          deviceId: deviceId === 'auto' ? null : deviceId,
          platform: platform === 'auto' ? (SYSTEM_PLATFORMS[process.platform] ?? 'unknown') : platform,
          deviceName: deviceName ?? null,
        },
        session,
      )
    })
}
