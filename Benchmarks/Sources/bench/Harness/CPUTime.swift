import Foundation

/// CPU time, as the sum of user time and system time.
enum CPUTime {
  /// The CPU seconds that this process has used.
  static var own: Double { seconds(of: Scope.own) }

  /// The CPU seconds that ended child processes have used.
  static var children: Double { seconds(of: Scope.children) }

  /// Measures the CPU seconds that some work takes in this process.
  static func measure(_ work: () throws -> Void) rethrows -> Double {
    let start = own
    try work()
    return own - start
  }

  /// The scopes of the system's counters. On Linux they are an enumeration.
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
    // The call fails only for an invalid scope.
    _ = getrusage(scope, &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }
}
