/** Returns the map's own value for a name, never an inherited property such as `constructor`. */
export const ownEntry = <T>(map: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(map, name) ? map[name] : undefined
