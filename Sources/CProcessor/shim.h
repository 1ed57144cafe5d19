/// Has the processor fetch what is at an address while it goes on with other work. Any address will do.
static inline void cprocessor_prefetch(const void *address) { __builtin_prefetch(address); }
