/** The platforms that a device can report; `unknown` is the default. */
export const PLATFORMS = ['ios', 'android', 'macos', 'linux', 'windows', 'browser', 'python', 'unknown'] as const

export type Platform = (typeof PLATFORMS)[number]
export type DeviceStatus = 'active' | 'inactive'

/** A device is active when its last heartbeat is at most five minutes old. */
const ACTIVE_WINDOW_MS = 5 * 60 * 1000

/** Returns the earliest heartbeat that still counts as active at `now`. */
export const activeSince = (now: Date): Date => new Date(now.getTime() - ACTIVE_WINDOW_MS)

/** Active: sent a heartbeat within the window, and did not report itself inactive. */
export const statusAt = (
  device: { readonly reported: DeviceStatus; readonly lastHeartbeat: Date },
  now: Date,
): DeviceStatus =>
  device.reported === 'active' && device.lastHeartbeat.getTime() >= activeSince(now).getTime() ? 'active' : 'inactive'
