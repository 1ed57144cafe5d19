#if SwiftLog
  public import CDRuntime
  public import Logging

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  extension StoreLog {
    /// Passes the events of all stores to a logger of swift-log, in place of an earlier handler.
    ///
    /// Statements have the level debug, fetches in memory info, migrations notice, and conflicts and slow fetches warning.
    /// The metadata of a message contain the event's values by name. No message contains values of attributes.
    ///
    /// ```swift
    /// StoreLog.setLogger(Logger(label: "store"), slowFetches: .milliseconds(100))
    /// ```
    ///
    /// Call it before you open stores: a store that is already open reports no statements. The logger is called on the
    /// thread that uses the store, while the store is in use. So its log handler must be quick, and must not use a store
    /// itself.
    ///
    /// - Parameters:
    ///   - logger: The logger.
    ///   - threshold: The duration from which a fetch is slow; nil to report no fetches as slow.
    public static func setLogger(_ logger: Logger, slowFetches threshold: Duration? = nil) {
      setHandler(slowFetches: threshold) { event in
        // The text of a statement is long, and usually nobody reads it.
        guard logger.logLevel <= event.level else { return }
        logger.log(level: event.level, "\(event)", metadata: event.metadata, source: "CDRuntime")
      }
    }
  }

  extension StoreLogEvent {
    /// The level that an event has.
    fileprivate var level: Logger.Level {
      switch self {
      case .statement: .debug
      case .evaluationInMemory: .info
      case .migration: .notice
      case .conflicts, .slowFetch: .warning
      }
    }

    fileprivate var metadata: Logger.Metadata {
      switch self {
      case .statement(_, let duration): ["duration": "\(duration)"]
      case .evaluationInMemory(let entity, _): ["entity": "\(entity)"]
      case .migration(let store, let from, let to, let duration):
        ["store": "\(store.path)", "from": "\(from)", "to": "\(to)", "duration": "\(duration)"]
      case .conflicts(let objects): ["objects": .array(objects.map { "\($0)" })]
      case .slowFetch(let entity, let duration): ["entity": "\(entity)", "duration": "\(duration)"]
      }
    }
  }
#endif
