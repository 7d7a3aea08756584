import { spawn } from 'node:child_process'

const commandFor = (address: string): readonly [string, readonly string[]] => {
  if (process.platform === 'darwin') return ['open', [address]]
  // Not `start`: its shell would read the & in the address.
  if (process.platform === 'win32') return ['rundll32', ['url.dll,FileProtocolHandler', address]]
  return ['xdg-open', [address]]
}

/** Shows an address in the person's browser, where there is one. The address is printed too, so failing is no harm. */
export const openBrowser = (address: string): void => {
  const { DISPLAY, WAYLAND_DISPLAY } = process.env
  // Without a screen xdg-open starts a text browser, which would fight for the terminal.
  if (process.platform === 'linux' && !DISPLAY && !WAYLAND_DISPLAY) return
  const [command, args] = commandFor(address)
  const child = spawn(command, args, { detached: true, stdio: 'ignore' })
  child.on('error', () => undefined)
  child.unref()
}
