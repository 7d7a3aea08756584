import type { BaseLocationHook, BaseSearchHook } from 'wouter'
import { useBrowserLocation, useSearch } from 'wouter/use-browser-location'

/** wouter decodes what it is given, in part and beyond recall; of this, it makes what the browser's address has. */
const keep = (encoded: string): string => encoded.replaceAll('%', '%25')

export const useRawLocation: BaseLocationHook = () => {
  const [path, navigate] = useBrowserLocation()
  return [keep(path), navigate]
}

export const useRawSearch: BaseSearchHook = () => keep(useSearch())

/** The name in a part of an address. What somebody typed there need not be well encoded. */
export const nameIn = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
