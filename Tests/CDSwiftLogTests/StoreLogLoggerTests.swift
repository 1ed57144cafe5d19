#if SwiftLog
  import CDRuntime
  import CDSwiftLog
  import Foundation
  import Logging
  import Synchronization
  import Testing

  /// The events of a store as messages of swift-log.
  @Suite(.serialized) struct StoreLogLoggerTests {
    private final class Messages: Sendable {
      let all = Mutex<[(level: Logger.Level, text: String, metadata: Logger.Metadata)]>([])
    }

    private struct Recorder: LogHandler {
      let messages: Messages
      var metadata: Logger.Metadata = [:]
      var logLevel: Logger.Level = .trace

      subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
      }

      func log(event: LogEvent) {
        messages.all.withLock { $0.append((event.level, "\(event.message)", event.metadata ?? [:])) }
      }
    }

    private func run(_ level: Logger.Level) throws -> Messages {
      let messages = Messages()
      var logger = Logger(label: "test") { _ in Recorder(messages: messages) }
      logger.logLevel = level
      StoreLog.setLogger(logger, slowFetches: .zero)
      defer { StoreLog.setHandler(nil) }
      let entity = EntityDescription(
        name: "Note", attributes: [AttributeDescription(name: "text", type: .string, isOptional: true)])
      let model = ManagedObjectModel(
        name: "Notes", id: UUID(), versions: [ModelVersion(number: 1, entities: [entity])],
        currentVersionNumber: 1)
      let container = PersistentContainer(try PersistentStoreCoordinator(model: model, at: .inMemory))
      let context = container.newContext()
      try context.insert(entityNamed: "Note").setValue(.attribute(.string("secret")), forKey: "text")
      try context.save()
      #expect(try context.fetch(FetchRequest<ManagedObject>(entityName: "Note")).count == 1)
      return messages
    }

    @Test func eventsHaveLevelsAndMetadata() throws {
      let messages = try run(.trace).all.withLock { $0 }
      let slow = try #require(messages.first { $0.text.contains("slow fetch of Note") })
      #expect(slow.level == .warning && slow.metadata["entity"] == "Note")
      #expect(messages.contains { $0.level == .debug && $0.text.contains("INSERT INTO \"Note\"") })
      #expect(!messages.contains { $0.text.contains("secret") })
    }

    @Test func theLoggersLevelDecides() throws {
      let messages = try run(.warning).all.withLock { $0 }
      #expect(!messages.isEmpty && messages.allSatisfy { $0.level == .warning })
    }
  }
#endif
