"""The same work with SQLAlchemy and psycopg 3, as people write it. `server-bench` sends the names of tasks, one in each line,
and gets the seconds that each task took, and a checksum."""
import sys, time
from uuid import UUID
from sqlalchemy import BigInteger, Boolean, Double, ForeignKey, Index, MetaData, String, Uuid, create_engine, select, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

url, count, categories = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1))


class Base(DeclarativeBase):
    metadata = MetaData(schema="bench_py")


class Category(Base):
    __tablename__ = "category"
    pk: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    version: Mapped[int] = mapped_column(BigInteger, nullable=False)
    name: Mapped[str] = mapped_column(String(collation="C"))
    __mapper_args__ = {"version_id_col": version}


class Todo(Base):
    __tablename__ = "todo"
    pk: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    version: Mapped[int] = mapped_column(BigInteger, nullable=False)
    title: Mapped[str] = mapped_column(String(collation="C"), index=True)
    notes: Mapped[str | None] = mapped_column(String(collation="C"))
    priority: Mapped[int] = mapped_column(BigInteger)
    due: Mapped[float] = mapped_column(Double)
    done: Mapped[bool] = mapped_column(Boolean)
    uuid: Mapped[UUID] = mapped_column(Uuid)
    category_pk: Mapped[int | None] = mapped_column(ForeignKey(Category.pk), index=True)
    category: Mapped[Category | None] = relationship(Category)
    __mapper_args__ = {"version_id_col": version}


def create():
    with engine.begin() as connection:
        connection.execute(text("DROP SCHEMA IF EXISTS bench_py CASCADE"))
        connection.execute(text("CREATE SCHEMA bench_py"))
    Base.metadata.create_all(engine)


def value(n):
    return dict(
        pk=n + 1, title=f"todo {n * 7919 % count}", notes=None if n % 3 == 0 else f"notes of the todo {n}", priority=n % 10,
        due=n * 1000.5, done=n % 2 == 0, uuid=UUID(bytes=bytes([n % 256] * 16)), category_pk=n % categories + 1)


def insert():
    values = [value(n) for n in range(count)]
    start = time.perf_counter()
    with Session(engine) as session:
        session.add_all(Category(pk=n + 1, name=f"category {n + 1}") for n in range(categories))
        session.flush()
        session.add_all(Todo(**each) for each in values)
        session.commit()
    return time.perf_counter() - start, count


def fetch():
    start = time.perf_counter()
    with Session(engine) as session:
        todos = session.scalars(select(Todo).order_by(Todo.pk)).all()
        checksum = sum(
            t.priority + len(t.title) + len(t.notes or "") + int(t.due) + t.done + t.uuid.bytes[0] for t in todos)
    return time.perf_counter() - start, checksum


def lookup():
    with Session(engine) as session:
        todos = session.scalars(select(Todo).order_by(Todo.pk).limit(categories)).all()
        start = time.perf_counter()
        checksum = sum(t.category.pk + len(t.category.name) for t in todos)
        return time.perf_counter() - start, checksum


def update():
    with Session(engine) as session:
        todos = session.scalars(select(Todo).order_by(Todo.pk)).all()
        start = time.perf_counter()
        for todo in todos:
            todo.priority = 77
        session.commit()
        return time.perf_counter() - start, count


tasks = {each.__name__: each for each in (insert, fetch, lookup, update)}
for line in sys.stdin:
    name = line.strip()
    if name == "insert":
        create()
    seconds, checksum = tasks[name]()
    print(seconds, checksum, flush=True)
