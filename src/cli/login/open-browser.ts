import { spawn } from 'node:child_process'

const commandFor = (address: string): readonly [string, readonly string[]] => {
  if (process.platform === 'darwin') return ['open', [address]]
  // Not `start`: its shell would read the & in the address.
  if (process.platform === 'win32') return ['rundll32', ['url.dll,FileProtocolHandler', address]]
  return ['xdg-open', [address]]
}

/** False where no browser could show anything: Linux without a screen. */
export const hasDisplay = (): boolean => {
  const { DISPLAY, WAYLAND_DISPLAY } = process.env
  return process.platform !== 'linux' || Boolean(DISPLAY) || Boolean(WAYLAND_DISPLAY)
}

/** Shows an address in the person's browser, where there is one. The address is printed too, so failing is no harm. */
export const openBrowser = (address: string): void => {
  // Without a screen xdg-open starts a text browser, which would fight for the terminal.
  if (!hasDisplay()) return
  const [command, args] = commandFor(address)
  const child = spawn(command, args, { detached: true, stdio: 'ignore' })
  child.on('error', () => undefined)
  child.unref()
}
