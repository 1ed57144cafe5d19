#if canImport(os)
  import os
#endif

/// An interval that Instruments shows on Apple systems. On other systems it does nothing.
struct Signpost {
  #if canImport(os)
    private static let signposter = OSSignposter(subsystem: "cdgen", category: "CDRuntime")
    private let name: StaticString
    private let state: OSSignpostIntervalState

    /// Begins an interval.
    init(_ name: StaticString) {
      self.name = name
      state = Self.signposter.beginInterval(name)
    }

    func end() { Self.signposter.endInterval(name, state) }
  #else
    /// Begins an interval.
    @inline(__always) init(_ name: StaticString) {}

    @inline(__always) func end() {}
  #endif
}
