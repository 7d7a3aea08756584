interface Report {
  readonly userLimits?: { readonly open_files?: { readonly soft: number | string } }
}

/** What to do if `error` says that this process has reached a limit of the system; null for other errors. */
export const limitAdvice = (error: unknown): string | null => {
  const words = String(error)
  if (/\bENFILE\b/.test(words))
    return 'This machine has too many open files. Stop other programs, or raise fs.file-max.'
  if (/\bEFBIG\b/.test(words))
    return 'This process may not write files as large as it needs. Raise the limit: ulimit -f in the shell, LimitFSIZE in the systemd unit.'
  // V8 reserves 10 GB of addresses, not of memory, for each WebAssembly module.
  if (/WebAssembly.*(?:out of|allocate) memory/i.test(words))
    return 'This process may use too few addresses. Remove the limit: ulimit -v in the shell, LimitAS in the systemd unit.'
  // The last words are Emscripten's for EMFILE.
  if (!/\bEMFILE\b|No file descriptors available/.test(words)) return null
  // The report opens no file, unlike /proc/self/limits.
  const limit = (process.report.getReport() as Report).userLimits?.open_files?.soft
  return (
    `This process may open only ${limit ?? 'a few'} files, which is too few. Raise the limit to 4096 or more: ulimit -n in the ` +
    'shell, LimitNOFILE in the systemd unit, --ulimit nofile= of a container.'
  )
}
