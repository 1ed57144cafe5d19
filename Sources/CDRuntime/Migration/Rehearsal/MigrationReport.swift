public import CDMapping
import CDModel

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What a ``MigrationRehearsal`` has found.
///
/// ```swift
/// let report = try MigrationRehearsal(PersistentStoreDescription(.sqlite(url)), model: model).run()
/// for step in report.steps {
///   for loss in step.losses { print(loss.description, loss.count ?? 0) }
///   for problem in step.problems { print(problem) }
/// }
/// if let refusal = report.refusal { print("it would fail: \(refusal)") }
/// ```
///
/// ## Topics
///
/// ### Steps
/// - ``Step``
/// - ``Kind``
/// - ``Loss``
/// - ``Problem``
///
/// ### The whole
/// - ``EntityCount``
/// - ``Part``
public struct MigrationReport: Hashable, Sendable {
  /// Who says what becomes of the objects of a step.
  public enum Kind: String, Hashable, Sendable {
    /// The models alone.
    case automatic
    /// A mapping, too.
    case mapped
    /// The app's own code, too.
    case custom
  }

  /// One step of the way.
  public struct Step: Hashable, Sendable {
    /// What differs, and what becomes of it.
    public let step: MigrationStep
    /// Who says what becomes of the objects.
    public var kind: Kind {
      if step.mapping.entityMappings.contains(where: { $0.kind == .custom }) { return .custom }
      return step.rules == nil ? .automatic : .mapped
    }
    /// Whether the step was made. The last one of a report may have been refused: see ``MigrationReport/refusal``.
    public internal(set) var isDone = false
    /// The statements, each once, with how many times it was run. None where the step was not begun.
    public internal(set) var statements: [Statement] = []
    /// What is lost, whether that is confirmed or not.
    public internal(set) var losses: [Loss] = []
    /// Objects that the step cannot make, which are why it is refused.
    public internal(set) var problems: [Problem] = []
    /// How long the step took.
    public internal(set) var duration = Duration.zero

    init(_ step: MigrationStep) { self.step = step }
  }

  /// A statement of SQL.
  public struct Statement: Hashable, Sendable {
    /// Its text, in which `?` stands for values.
    public let sql: String
    /// How many times it was run.
    public internal(set) var count: Int
  }

  /// Something that the store has and that goes.
  public struct Loss: Hashable, Sendable {
    /// What is counted.
    public enum Unit: String, Hashable, Sendable {
      /// Objects.
      case objects
      /// Values that are not nil.
      case values
      /// Pairs of related objects, or places of objects in an order.
      case relations
    }

    /// What is lost, in words.
    public let description: String
    /// How many there are; nil where that cannot be told.
    public let count: Int?
    /// What is counted.
    public let unit: Unit
    /// Whether a `drop:`, or a filter, says that the loss is meant.
    public let isConfirmed: Bool
  }

  /// Objects that are not as the model wants them, in one respect.
  public struct Problem: Hashable, Sendable, CustomStringConvertible {
    /// The entity.
    public let entity: String
    /// The property, several with commas; nil where it is none alone.
    public let property: String?
    /// What is wrong, as said of the property.
    public let rule: String
    /// How many objects that concerns.
    public internal(set) var count: Int
    /// The URIs of the first few of them.
    public internal(set) var objects: [URL]

    /// How many objects are named.
    static let namedObjects = 5

    /// `'age' of 'Person' is mandatory and has no value: 12 objects, cdgen://… and others`.
    public var description: String {
      let subject = property.map { "'\($0)' of '\(entity)'" } ?? "'\(entity)'"
      let number = count == 1 ? "1 object" : "\(count) objects"
      let names = objects.map(\.absoluteString).joined(separator: ", ")
      let others = count > objects.count && !objects.isEmpty ? " and others" : ""
      return "\(subject) \(rule): \(number)" + (names.isEmpty ? "" : ", \(names)\(others)")
    }
  }

  /// The objects of an entity, without those of its subentities.
  public struct EntityCount: Hashable, Sendable {
    /// The entity in the version that the store is of; nil for one that is new.
    public let source: String?
    /// The entity in the version that the rehearsal came to; nil for one that is gone.
    public let destination: String?
    /// How many objects there are; nil where the entity is new.
    public let before: Int?
    /// How many there will be; nil where the entity is gone.
    public let after: Int?
  }

  /// One of the merged models that a file holds the objects of.
  public struct Part: Hashable, Sendable {
    /// The model's name.
    public let model: String
    /// The number of the version that the store is of.
    public let source: Int
    /// The number of the version that it is to be of.
    public let destination: Int
    /// The number of the version that the rehearsal came to.
    public internal(set) var reached: Int
  }

  /// The store's file.
  public let storeURL: URL
  /// The number of the version that the store is of. A merged model has one version only, which is 1: see ``parts``.
  public let source: Int
  /// The number of the version that it is to be of.
  public let destination: Int
  /// The number of the version that the rehearsal came to.
  public internal(set) var reached: Int
  /// Of a merged model in one file: each of the models that it is made of, in their order. None of any other.
  public internal(set) var parts: [Part] = []
  /// The steps up to the destination, or to the one that is refused. None where both versions store the same.
  public internal(set) var steps: [Step] = []
  /// Why the migration would fail; nil where it would succeed.
  public internal(set) var refusal: MigrationError?
  /// Whether the migration is one transaction in the store's own file. Otherwise a new file takes its place.
  public internal(set) var isInPlace = true
  /// The entities of the store and of what the rehearsal made of it.
  public internal(set) var entities: [EntityCount] = []
  /// Objects that break a rule of the version that the rehearsal came to. They migrate all the same, and cannot be
  /// saved before they are put right.
  public internal(set) var brokenRules: [Problem] = []
  /// The bytes of the store's file. Those of large values are not among them: their files stay as they are.
  public internal(set) var fileSize: Int64 = 0
  /// How many bytes of the disk the migration needs at most, beyond those that the store has.
  public internal(set) var neededSpace: Int64 = 0
  /// How many bytes of the store's disk are free; nil where that cannot be told.
  public internal(set) var freeSpace: Int64?

  /// How long the steps took, without the copying and counting of the rehearsal.
  public var duration: Duration { steps.reduce(.zero) { $0 + $1.duration } }

  /// Whether the migration would succeed.
  public var succeeds: Bool { refusal == nil }

  init(_ url: URL, source: Int, destination: Int) {
    storeURL = url
    self.source = source
    self.destination = destination
    reached = source
  }
}
