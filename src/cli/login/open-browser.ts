import { spawn } from 'node:child_process'

const commandFor = (address: string): readonly [string, readonly string[]] => {
  if (process.platform === 'darwin') return ['open', [address]]
  // Not `start`: its shell would interpret the & in the address.
  if (process.platform === 'win32') return ['rundll32', ['url.dll,FileProtocolHandler', address]]
  return ['xdg-open', [address]]
}

/** False if no browser could open a window: Linux without a display. */
export const hasDisplay = (): boolean => {
  const { DISPLAY, WAYLAND_DISPLAY } = process.env
  return process.platform !== 'linux' || Boolean(DISPLAY) || Boolean(WAYLAND_DISPLAY)
}

/** Opens an address in the user's browser, if there is one. Failures are harmless: the address is also printed. */
export const openBrowser = (address: string): void => {
  // Without a display, xdg-open would start a text browser in this terminal.
  if (!hasDisplay()) return
  const [command, args] = commandFor(address)
  const child = spawn(command, args, { detached: true, stdio: 'ignore' })
  child.on('error', () => undefined)
  child.unref()
}
