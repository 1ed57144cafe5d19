import Foundation

/// CPU time, user's and system's together.
enum CPUTime {
  /// Seconds that this process has used.
  static var own: Double { seconds(of: Scope.own) }

  /// Seconds that child processes which have ended have used.
  static var children: Double { seconds(of: Scope.children) }

  /// Seconds that some work takes in this process.
  static func measure(_ work: () throws -> Void) rethrows -> Double {
    let start = own
    try work()
    return own - start
  }

  /// What the system counts together, by its numbers. Linux has an enumeration for them.
  private enum Scope {
    #if canImport(Glibc)
      static let own = RUSAGE_SELF.rawValue
      static let children = RUSAGE_CHILDREN.rawValue
    #else
      static let own = RUSAGE_SELF
      static let children = RUSAGE_CHILDREN
    #endif
  }

  private static func seconds(of scope: Int32) -> Double {
    var usage = rusage()
    // It fails only for a scope that there is not.
    _ = getrusage(scope, &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }
}
