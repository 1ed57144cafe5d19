#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Memory for a large table, initialised with zeros.
///
/// Large tables are mapped, so that their memory goes back to the system when they are deallocated. A general
/// allocator uses the deallocation of a large block to tidy up all free small blocks. For a table that is released
/// together with hundreds of thousands of objects, that doubled the time of the release.
enum TableMemory {
  /// The size from which memory is mapped, in bytes.
  private static let mappedSize = 128 * 1024

  static func allocate(_ size: Int) -> UnsafeMutableRawPointer {
    if size >= mappedSize { return map(size) }
    let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    return memory
  }

  /// - Parameter size: The size that the memory was allocated with.
  static func deallocate(_ memory: UnsafeMutableRawPointer, _ size: Int) {
    if size >= mappedSize { munmap(memory, size) } else { memory.deallocate() }
  }

  #if os(Linux)
    /// The size of a large page, in bytes.
    private static let largePage = 2 * 1024 * 1024
  #endif

  private static func map(_ size: Int) -> UnsafeMutableRawPointer {
    #if os(Linux)
      // The pages will be used. Getting all of them at once costs less than getting them one by one. Large pages are
      // fewer, but the system must know of the wish before it gives any page.
      let isLarge = size >= largePage
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | (isLarge ? 0 : MAP_POPULATE)
    #else
      let flags = MAP_PRIVATE | MAP_ANON
    #endif
    // Swift's own allocations end the program too when there is no memory.
    guard let memory = mmap(nil, size, PROT_READ | PROT_WRITE, flags, -1, 0), memory != MAP_FAILED else {
      fatalError("no memory for a table of \(size) bytes")
    }
    #if os(Linux)
      // A system without large pages gives small ones.
      if isLarge { madvise(memory, size, MADV_HUGEPAGE) }
    #endif
    return memory
  }
}
