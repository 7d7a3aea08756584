import type { BaseLocationHook, BaseSearchHook } from 'wouter'
import { useBrowserLocation, useSearch } from 'wouter/use-browser-location'

/** wouter decodes its input partially and irreversibly. Escaping % makes it return the browser's original address. */
const keep = (encoded: string): string => encoded.replaceAll('%', '%25')

export const useRawLocation: BaseLocationHook = () => {
  const [path, navigate] = useBrowserLocation()
  return [keep(path), navigate]
}

export const useRawSearch: BaseSearchHook = () => keep(useSearch())

/** Decodes a name in an address; a typed address may not be properly encoded. */
export const nameIn = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
