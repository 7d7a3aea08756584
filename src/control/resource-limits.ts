type Limit = 'open_files' | 'file_size_blocks' | 'virtual_memory_kbytes'

interface Report {
  readonly userLimits?: Readonly<Partial<Record<Limit, { readonly soft: number | string }>>>
}

/** Undefined if there is none. The report opens no file, unlike /proc/self/limits. */
const limitOf = (name: Limit): number | undefined => {
  const soft = (process.report.getReport() as Report).userLimits?.[name]?.soft
  return typeof soft === 'number' ? soft : undefined
}

/** What to do if `error` says that this process has reached a limit of the system; null for other errors. */
export const limitAdvice = (error: unknown): string | null => {
  const words = String(error)
  if (/\bENFILE\b/.test(words))
    return 'This machine has too many open files. Stop other programs, or raise fs.file-max.'
  // Otherwise, a file system, such as FAT32, allows no larger files.
  if (/\bEFBIG\b/.test(words) && limitOf('file_size_blocks') !== undefined)
    return 'This process is not allowed to write files as large as it needs. Raise the limit: ulimit -f in the shell, LimitFSIZE in the systemd unit.'
  // V8 reserves 10 GB of addresses, not of memory, for each WebAssembly module.
  if (/WebAssembly.*(?:out of|allocate) memory/i.test(words) && limitOf('virtual_memory_kbytes') !== undefined)
    return "The limit on this process's address space is too low. Remove it: ulimit -v in the shell, LimitAS in the systemd unit."
  // The last words are Emscripten's for EMFILE.
  if (!/\bEMFILE\b|No file descriptors available/.test(words)) return null
  return (
    `This process can open only ${limitOf('open_files') ?? 'a few'} files, which is too few. Raise the limit to 4096 or more: ulimit -n in the ` +
    'shell, LimitNOFILE in the systemd unit, --ulimit nofile= of a container.'
  )
}
