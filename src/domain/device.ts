/** Interface section 2; `python` occurs there as a value too, `unknown` is the default. */
export const PLATFORMS = ['ios', 'android', 'macos', 'linux', 'windows', 'browser', 'python', 'unknown'] as const

export type Platform = (typeof PLATFORMS)[number]
export type DeviceStatus = 'active' | 'inactive'

/** Interface section 8: a device is active when it was heard from in the last five minutes. */
const ACTIVE_WINDOW_MS = 5 * 60 * 1000

/** The earliest heartbeat that still counts as active at `now`. */
export const activeSince = (now: Date): Date => new Date(now.getTime() - ACTIVE_WINDOW_MS)

/** Active = heard from within the window and not reported inactive. */
export const statusAt = (
  device: { readonly reported: DeviceStatus; readonly lastHeartbeat: Date },
  now: Date,
): DeviceStatus =>
  device.reported === 'active' && device.lastHeartbeat.getTime() >= activeSince(now).getTime() ? 'active' : 'inactive'
