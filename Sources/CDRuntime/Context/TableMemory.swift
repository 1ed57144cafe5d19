#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Memory for a large table, whose bytes are zero at first.
///
/// Large tables are mapped, and so go back to the system when they are done with. A general allocator takes the end of
/// a large block as the moment to tidy up all small ones that are free; with a table that ends together with its
/// hundred thousands of objects, that doubled the time that letting go of them takes.
enum TableMemory {
  /// The size from which on memory is mapped, in bytes.
  private static let mappedSize = 128 * 1024

  static func allocate(_ size: Int) -> UnsafeMutableRawPointer {
    if size >= mappedSize { return map(size) }
    let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    return memory
  }

  /// - Parameter size: The one that the memory was allocated with.
  static func deallocate(_ memory: UnsafeMutableRawPointer, _ size: Int) {
    if size >= mappedSize { munmap(memory, size) } else { memory.deallocate() }
  }

  private static func map(_ size: Int) -> UnsafeMutableRawPointer {
    #if os(Linux)
      // The pages will be used: all at once, they cost less than one by one.
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE
    #else
      let flags = MAP_PRIVATE | MAP_ANON
    #endif
    // Without memory Swift's own allocations end the program too.
    guard let memory = mmap(nil, size, PROT_READ | PROT_WRITE, flags, -1, 0), memory != MAP_FAILED else {
      fatalError("no memory for a table of \(size) bytes")
    }
    return memory
  }
}
