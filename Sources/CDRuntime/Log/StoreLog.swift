public import Foundation
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// An event that ``StoreLog`` reports. No event contains values of attributes.
///
/// ```swift
/// StoreLog.setHandler { event in
///   if case .statement(_, let duration) = event, duration > .milliseconds(50) { print(event) }
/// }
/// ```
public enum StoreLogEvent: Hashable, Sendable, CustomStringConvertible {
  /// A statement has ended. The text has a placeholder for each value. The duration includes the time in which the
  /// program has read the rows. Statements that are sent to a server together have one duration, until all replies have
  /// come.
  case statement(text: String, duration: Duration)
  /// A fetch reads objects of an entity and decides in memory, because the store cannot decide exactly. The message says
  /// which part of the fetch is the reason.
  case evaluationInMemory(entity: String, message: String)
  /// A store was migrated while it was opened.
  case migration(store: URL, from: Int, to: Int, duration: Duration)
  /// A save has met the saves of other contexts or processes in these objects. The context's merge policy decides next.
  case conflicts([ManagedObjectID])
  /// A fetch of an entity has taken longer than the threshold that ``StoreLog/setHandler(slowFetches:_:)`` was given. The
  /// duration includes the creation of objects and prefetching.
  case slowFetch(entity: String, duration: Duration)

  /// The event in one line.
  @_optimize(none)
  public var description: String {
    switch self {
    case .statement(let text, let duration): "\(Self.text(of: duration))  \(text)"
    case .evaluationInMemory(_, let message): message
    case .migration(let store, let from, let to, let duration):
      "\(Self.text(of: duration))  migrated \(Self.name(of: store)) from version \(from) to \(to)"
    case .conflicts(let objects): "conflicts: \(objects.map(\.description).joined(separator: ", "))"
    case .slowFetch(let entity, let duration): "\(Self.text(of: duration))  slow fetch of \(entity)"
    }
  }

  /// The name of a file, or the address of a store on a server.
  private static func name(of store: URL) -> String {
    store.isFileURL ? store.lastPathComponent : store.absoluteString
  }

  private static func text(of duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    return String(format: "%.3f ms", Double(seconds) * 1000 + Double(attoseconds) / 1e15)
  }
}

/// The log of all stores of the program: statements with their durations, fetches that the store cannot decide, migrations
/// and conflicts.
///
/// Without a handler the log has no cost. A handler passes the events to the logger of your choice:
///
/// ```swift
/// StoreLog.setHandler { event in
///   switch event {
///   case .statement(let text, let duration): print(duration, text)
///   case .evaluationInMemory, .migration, .conflicts, .slowFetch: print(event)
///   }
/// }
/// ```
///
/// On Apple systems, Instruments shows fetches, saves and migrations as intervals of the subsystem `cdgen`, without a
/// handler.
///
/// If the environment variable `CDGEN_SQL_LOG` is 1 and the program sets no handler, each event is written to the standard
/// error stream.
public enum StoreLog {
  /// Sets the function that receives the events, in place of an earlier one.
  ///
  /// Call it before you open stores: a file that is already open reports no statements. The function is called on the
  /// thread that uses the store, while the store is in use. So it must be quick, and must not use a store itself.
  ///
  /// ```swift
  /// StoreLog.setHandler(slowFetches: .milliseconds(100)) { event in
  ///   if case .slowFetch(let entity, let duration) = event { print("\(entity) took \(duration)") }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - threshold: The duration from which a fetch is slow; nil to report no fetches as slow.
  ///   - handler: The function; nil to log nothing.
  public static func setHandler(
    slowFetches threshold: Duration? = nil, _ handler: (@Sendable (StoreLogEvent) -> Void)?
  ) {
    current.withLock { $0 = handler }
    let isMeasuring = handler != nil && threshold != nil
    slowFetchThreshold.store(isMeasuring ? nanoseconds(threshold ?? .zero) : -1, ordering: .releasing)
    isOnFlag.store(handler != nil, ordering: .releasing)
  }

  /// Whether somebody wants the events.
  package static var isOn: Bool { isOnFlag.load(ordering: .acquiring) }

  /// Reports an event, which is made only if somebody wants it.
  package static func report(_ event: @autoclosure () -> StoreLogEvent) {
    guard isOn, let handler = current.withLock({ $0 }) else { return }
    handler(event())
  }

  private static func nanoseconds(_ duration: Duration) -> Int64 {
    let (seconds, attoseconds) = duration.components
    let (product, overflow) = max(seconds, 0).multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? .max : max(0, product &+ attoseconds / 1_000_000_000)
  }

  /// The duration from which a fetch is slow, in nanoseconds; negative if nobody wants to know.
  fileprivate static let slowFetchThreshold = Atomic<Int64>(-1)
  private static let isWanted = getenv("CDGEN_SQL_LOG").map { String(cString: $0) == "1" } ?? false
  private static let isOnFlag = Atomic<Bool>(isWanted)
  private static let current = Mutex<Handler?>(standardErrorHandler)
  private typealias Handler = @Sendable (StoreLogEvent) -> Void

  /// The handler of a program that sets none.
  private static var standardErrorHandler: Handler? {
    guard isWanted else { return nil }
    return { event in write("cdgen: \(event)\n") }
  }

  /// Writes to the standard error stream. Output that the stream refuses is lost, because a log must not end the
  /// program.
  private static func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      var rest = UnsafeRawBufferPointer(bytes)[...]
      while !rest.isEmpty {
        let piece = UnsafeRawBufferPointer(rebasing: rest)
        #if canImport(Darwin)
          let count = Darwin.write(STDERR_FILENO, piece.baseAddress, piece.count)
        #elseif canImport(Glibc)
          let count = Glibc.write(STDERR_FILENO, piece.baseAddress, piece.count)
        #elseif canImport(Musl)
          let count = Musl.write(STDERR_FILENO, piece.baseAddress, piece.count)
        #endif
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
    }
  }
}

/// The measurement of a fetch.
struct FetchMeasurement {
  private let entity: String
  /// Nil if nobody wants to know of slow fetches.
  private let start: ContinuousClock.Instant?
  private let signpost: Signpost

  /// Begins to measure.
  init(_ entity: String) {
    self.entity = entity
    start = StoreLog.slowFetchThreshold.load(ordering: .acquiring) < 0 ? nil : .now
    signpost = Signpost("fetch")
  }

  /// Ends the measurement, and reports a slow fetch.
  func end() {
    signpost.end()
    guard let start else { return }
    let duration = ContinuousClock.now - start
    let threshold = StoreLog.slowFetchThreshold.load(ordering: .acquiring)
    guard threshold >= 0, duration >= .nanoseconds(threshold) else { return }
    StoreLog.report(.slowFetch(entity: entity, duration: duration))
  }
}
