/** Makes one file of each program among the compiled sources in the folder `built`, in their place. */
export declare const bundlePrograms: (built: string) => Promise<void>
