import Foundation

/// CPU time, user's and system's together.
enum CPUTime {
  /// Seconds that this process has used.
  static var own: Double { seconds(of: RUSAGE_SELF) }

  /// Seconds that child processes which have ended have used.
  static var children: Double { seconds(of: RUSAGE_CHILDREN) }

  /// Seconds that some work takes in this process.
  static func measure(_ work: () throws -> Void) rethrows -> Double {
    let start = own
    try work()
    return own - start
  }

  #if canImport(Glibc)
    private static func seconds(of who: __rusage_who) -> Double { usage { getrusage(who, &$0) } }
  #else
    private static func seconds(of who: Int32) -> Double { usage { getrusage(who, &$0) } }
  #endif

  private static func usage(_ read: (inout rusage) -> Int32) -> Double {
    var usage = rusage()
    // It fails only for an unknown `who`.
    _ = read(&usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1_000_000 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }
}
